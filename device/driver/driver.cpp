#include "device/driver/driver.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <array>

#include "core/error.hpp"
#include "device/driver/cuda_device.hpp"
#include "device/driver/driver_library.hpp"

namespace tconv {
namespace {

int device_count() {
    int count = 0;
    cuda::check(cuda::driver_function<decltype(cuDeviceGetCount)>("cuDeviceGetCount")(&count), "cuDeviceGetCount");
    return count;
}

}  // namespace

DriverStatus driver_status() {
    DriverStatus status;
    const cuda::DriverLibrary& library = cuda::driver_library();
    if (library.handle == nullptr) {
        status.reason = library.reason;
        return status;
    }
    status.version = cuda::version_text(library.version);
    try {
        const int count = device_count();
        for (int ordinal = 0; ordinal < count; ++ordinal)
            status.devices.push_back(cuda::query_device(ordinal));
        status.available = count > 0;
        if (count == 0) status.reason = "The CUDA driver lists no device.";
    } catch (const Error& error) {
        status.reason = fmt::format("The CUDA driver cannot list its devices: {}.", error.what());
    }
    return status;
}

std::unique_ptr<Device> open_cuda_device(int ordinal) {
    const cuda::DriverLibrary& library = cuda::driver_library();
    if (library.handle == nullptr) throw Error(ErrorKind::unavailable, library.reason);
    try {
        const int count = device_count();
        if (ordinal < 0 || ordinal >= count) {
            throw Error(ErrorKind::unavailable,
                        fmt::format("There is no device cuda:{}: the driver lists {}.", ordinal, count));
        }
        return cuda::open_primary(ordinal);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::unavailable) throw;
        throw Error(ErrorKind::unavailable, fmt::format("Device cuda:{} cannot be opened: {}.", ordinal, error.what()));
    }
}

std::unique_ptr<Device> open_current_cuda_device() {
    if (cuda::driver_library().handle != nullptr) {
        if (std::unique_ptr<Device> device = cuda::open_current()) return device;
    }
    return open_cuda_device(0);
}

std::string pci_bus_id(int ordinal) {
    const std::string subject = fmt::format("cuda:{}", ordinal);
    CUdevice device = 0;
    cuda::check(cuda::driver_function<decltype(cuDeviceGet)>("cuDeviceGet")(&device, ordinal), "cuDeviceGet", subject);
    std::array<char, 32> text{};
    cuda::check(cuda::driver_function<decltype(cuDeviceGetPCIBusId)>("cuDeviceGetPCIBusId")(
                    text.data(), static_cast<int>(text.size()) - 1, device),
                "cuDeviceGetPCIBusId", subject);
    return text.data();
}

}  // namespace tconv
