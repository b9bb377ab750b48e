#pragma once

#include <cstdint>
#include <string>

namespace tconv {

enum class DeviceKind { cuda, emulator };

/// What a search space and a launch check need to know of a device.
struct DeviceInfo {
    DeviceKind kind = DeviceKind::emulator;
    std::string name;       ///< product name: "NVIDIA H200", "emulator"
    int compute_major = 0;  ///< compute capability
    int compute_minor = 0;
    int multiprocessors = 1;
    int warp_size = 32;
    int max_threads_per_block = 1024;
    std::int64_t registers_per_multiprocessor = 65536;
    std::int64_t shared_memory_per_block = 49152;  ///< bytes, the opt-in maximum
    std::int64_t shared_memory_per_multiprocessor = 49152;
    std::int64_t l2_bytes = 0;
    std::int64_t memory_bytes = 0;
    std::string driver_version;  ///< "13.0", or the emulator's own

    friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

/// Product name + compute capability + multiprocessor count: "NVIDIA H200, cc 9.0, 132 multiprocessors".
[[nodiscard]] std::string device_key(const DeviceInfo& device);

}  // namespace tconv
