#include "tuner/runnable.hpp"

#include <memory>

#include "core/error.hpp"

namespace tconv {

void keep_packed(Runnable& runnable, const CallTensors& tensors) {
    if (!runnable.pack) return;
    runnable.pack(tensors);
    runnable.launch = runnable.launch_packed;
}

std::function<void()> replayed(Device& device, const Runnable& runnable, const CallTensors& tensors) {
    const auto launch = [&runnable, tensors](StreamHandle stream) {
        CallTensors on_stream = tensors;
        on_stream.stream = stream;
        runnable.launch(on_stream);
    };
    try {
        std::shared_ptr<Recording> recording = device.record(launch);
        return [recording] { recording->replay(); };
    } catch (const Error&) {
        return [launch] { launch(nullptr); };
    }
}

}  // namespace tconv
