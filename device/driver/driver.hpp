#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace tconv {

/// What the CUDA driver, opened at run time, says of itself.
struct DriverStatus {
    bool available = false;
    std::string version;  ///< CUDA version that the driver supports: "13.0"
    std::string reason;   ///< one sentence when not available
    std::vector<DeviceInfo> devices;
};

/// Opens libcuda.so.1 (once a process) and lists its devices. Never throws: what is missing is in `reason`.
[[nodiscard]] DriverStatus driver_status();

/// Opens device `ordinal` with its primary context. Throws Error(unavailable) naming what is missing.
[[nodiscard]] std::unique_ptr<Device> open_cuda_device(int ordinal);

/// The CUDA context current on this thread, else device 0's primary context: where a program that already uses CUDA
/// wants its kernels.
[[nodiscard]] std::unique_ptr<Device> open_current_cuda_device();

/// Where device `ordinal` sits: "0000:1b:00.0". Throws Error(unavailable) or Error(device).
[[nodiscard]] std::string pci_bus_id(int ordinal);

}  // namespace tconv
