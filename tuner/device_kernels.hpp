#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "tuner/builder.hpp"

namespace tconv {

/// Compiles a kernel source that needs no prelude and loads it. Throws Error(compile) with the log.
[[nodiscard]] std::unique_ptr<Module> load_kernel_file(Device& device, Builder& builder, const std::string& file,
                                                       const std::vector<std::string>& kernels);

/// Enough threads to fill the device, for kernels that stride over their data.
[[nodiscard]] LaunchGeometry filling_geometry(const DeviceInfo& device);

}  // namespace tconv
