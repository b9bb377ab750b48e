#pragma once

#include <cstdint>
#include <string>

#include "device/device.hpp"
#include "device/emulator/emulator.hpp"

namespace tconv::emulator {

/// Throws Error(device) naming the first of CUDA's launch limits that `geometry` breaks, with value and limit.
void check_launch(const std::string& kernel, const LaunchGeometry& geometry, std::int64_t static_shared_bytes,
                  const EmulatorOptions& options);

}  // namespace tconv::emulator
