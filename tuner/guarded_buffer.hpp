#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/memory.hpp"

namespace tconv {

class SupportKernels;

/// Device memory between two guard zones. Guards and poison are bytes 0xFF: NaN in every floating-point type, so that a
/// read from them shows in the result as a write to them shows in the guard.
class GuardedBuffer {
public:
    static constexpr unsigned char k_poison = 0xFF;
    static constexpr std::size_t k_guard_bytes = 4096;

    /// `bytes` may be 0: the address is then that of the guard.
    GuardedBuffer(Device& device, std::size_t bytes);
    GuardedBuffer(const GuardedBuffer&) = delete;
    GuardedBuffer& operator=(const GuardedBuffer&) = delete;
    ~GuardedBuffer();

    [[nodiscard]] DevicePointer address() const { return memory_.address() + k_guard_bytes; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// Fills the payload with poison.
    void poison();
    /// First bytes of the zones before and after the payload, k_guard_bytes each.
    [[nodiscard]] std::array<DevicePointer, 2> zones() const { return {memory_.address(), address() + bytes_}; }
    void allow_zones();
    void forbid_zones();

private:
    Device& device_;
    std::size_t bytes_;
    DeviceMemory memory_;  // guard, payload, guard
};

/// For each buffer, how many bytes of its guard zones were changed. At most 8 buffers.
[[nodiscard]] std::vector<std::uint64_t> damage_around(const std::vector<GuardedBuffer*>& buffers,
                                                       SupportKernels& support);

}  // namespace tconv
