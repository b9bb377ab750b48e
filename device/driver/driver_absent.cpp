#include "core/error.hpp"
#include "device/driver/driver.hpp"

namespace tconv {
namespace {

constexpr const char* k_reason = "This build has no CUDA support: it was built without the CUDA Toolkit.";

}  // namespace

DriverStatus driver_status() {
    DriverStatus status;
    status.reason = k_reason;
    return status;
}

std::unique_ptr<Device> open_cuda_device(int) {
    throw Error(ErrorKind::unavailable, k_reason);
}

std::unique_ptr<Device> open_current_cuda_device() {
    throw Error(ErrorKind::unavailable, k_reason);
}

std::string pci_bus_id(int) {
    throw Error(ErrorKind::unavailable, k_reason);
}

}  // namespace tconv
