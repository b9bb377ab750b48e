#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/compiler.hpp"
#include "device/device.hpp"
#include "tuner/laboratory.hpp"

namespace tconv {

/// What a worker works with. A worker without a device only compiles.
struct WorkerTools {
    std::unique_ptr<Device> device;
    std::unique_ptr<Compiler> compiler;
    DisturbanceWatch watch;  ///< of the device; may be empty
};

/// A worker's life: greets on standard output, answers the requests that come on standard input, and returns when there
/// are no more. What kernels and libraries print goes to standard error. `open` makes the tools; what it throws is
/// said in the greeting. The process ends at once, whatever it is at, when the other side is gone; `at_end` is called
/// before that, on another thread, to end what the process has started.
void serve_worker(const std::function<WorkerTools()>& open, const std::function<void()>& at_end = {});

}  // namespace tconv
