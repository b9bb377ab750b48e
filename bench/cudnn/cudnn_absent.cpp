#include "bench/cudnn/cudnn.hpp"
#include "core/error.hpp"

namespace tconv {
namespace {

constexpr const char* k_reason = "This build cannot use cuDNN: it was built without the headers of cuDNN 9.";

}  // namespace

CudnnStatus cudnn_status(const std::string&) {
    CudnnStatus status;
    status.reason = k_reason;
    return status;
}

std::unique_ptr<Cudnn> open_cudnn(Device&, Builder&, const std::string&) {
    throw Error(ErrorKind::unavailable, k_reason);
}

}  // namespace tconv
