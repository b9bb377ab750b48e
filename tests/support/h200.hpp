#pragma once

#include "core/device_info.hpp"

namespace tconv::test {

/// What search spaces and compilers ask of an NVIDIA H200, where there is none.
[[nodiscard]] inline DeviceInfo h200() {
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.name = "NVIDIA H200";
    device.compute_major = 9;
    device.multiprocessors = 132;
    device.shared_memory_per_block = 232448;
    device.shared_memory_per_multiprocessor = 233472;
    return device;
}

}  // namespace tconv::test
