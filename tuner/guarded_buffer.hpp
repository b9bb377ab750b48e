#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/launch_plan.hpp"
#include "device/memory.hpp"

namespace tconv {

/// Device memory between two guard zones. Guards and poison are bytes 0xFF: NaN in every floating-point type, so that a
/// read from them shows in the result as a write to them shows in the guard.
class GuardedBuffer {
public:
    static constexpr unsigned char k_poison = 0xFF;
    static constexpr std::size_t k_guard_bytes = 4096;

    /// `bytes` may be 0: the address is then that of the guard. The address is a multiple of k_most_alignment.
    GuardedBuffer(Device& device, std::size_t bytes);
    GuardedBuffer(const GuardedBuffer&) = delete;
    GuardedBuffer& operator=(const GuardedBuffer&) = delete;
    ~GuardedBuffer();

    /// Moves the payload, which is poisoned, to an address that is a multiple of `alignment` (at most
    /// k_most_alignment) and of no larger power of two.
    void place(std::int64_t alignment);

    [[nodiscard]] DevicePointer address() const { return address_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// Fills the payload with poison.
    void poison();
    /// First bytes of the zones before and after the payload, k_guard_bytes each.
    [[nodiscard]] std::array<DevicePointer, 2> zones() const { return {address_ - k_guard_bytes, address_ + bytes_}; }
    void allow_zones();
    void forbid_zones();
    /// Fills the zones with poison again.
    void restore_zones();

private:
    [[nodiscard]] std::size_t whole_bytes() const;

    Device& device_;
    std::size_t bytes_;
    DeviceMemory memory_;  // guard, payload, guard, and room to move
    DevicePointer address_ = 0;
};

/// The zones of all buffers, two each, which may be looked at until `close_zones`.
[[nodiscard]] std::vector<DevicePointer> open_zones(const std::vector<GuardedBuffer*>& buffers);

/// For each buffer, how many bytes of its zones were changed, given that for each zone; those are restored.
[[nodiscard]] std::vector<std::uint64_t> close_zones(const std::vector<GuardedBuffer*>& buffers,
                                                     const std::vector<std::uint64_t>& changed);

}  // namespace tconv
