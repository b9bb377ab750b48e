#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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
    /// Bytes of the two guard zones that were changed.
    [[nodiscard]] std::uint64_t damage(SupportKernels& support);

private:
    Device& device_;
    std::size_t bytes_;
    DeviceMemory memory_;  // guard, payload, guard
};

}  // namespace tconv
