#include "core/error.hpp"
#include "device/nvrtc/nvrtc.hpp"

namespace tconv {
namespace {

constexpr const char* k_reason = "This build cannot compile for NVIDIA GPUs: it was built without the CUDA Toolkit.";

}  // namespace

NvrtcStatus nvrtc_status() {
    NvrtcStatus status;
    status.reason = k_reason;
    return status;
}

std::unique_ptr<Compiler> make_nvrtc_compiler() {
    throw Error(ErrorKind::unavailable, k_reason);
}

}  // namespace tconv
