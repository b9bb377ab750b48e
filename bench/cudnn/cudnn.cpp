#include "bench/cudnn/cudnn.hpp"

#include "bench/cudnn/peer.hpp"
#include "core/error.hpp"

namespace tconv {

CudnnStatus cudnn_status(const std::string& path) {
    try {
        return cudnn::Library(path).status();
    } catch (const Error& error) {
        CudnnStatus status;
        status.reason = error.what();
        return status;
    }
}

std::unique_ptr<Cudnn> open_cudnn(Device& device, Builder& builder, const std::string& path) {
    if (device.info().kind != DeviceKind::cuda)
        throw Error(ErrorKind::unavailable, "cuDNN computes on NVIDIA GPUs, not on the emulator.");
    const cudnn::Library library(path);
    return cudnn::make_peer(device, builder, library, cudnn::Context(device));
}

}  // namespace tconv
