#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "device/emulator/box_copy.hpp"
#include "device/emulator/emulator_abi.hpp"

namespace tconv::emulator {

/// A copy under way to a block's shared memory; its bytes count for a barrier when they arrive.
struct BarrierCopy {
    void* barrier = nullptr;
    unsigned char* shared = nullptr;
    std::size_t bytes = 0;
    const void* global = nullptr;                  ///< of a plain copy
    std::optional<tconv_emulator::TensorMap> map;  ///< of a box
    BoxCorner corner{};
    bool landed = false;  ///< its bytes are there, though they do not count yet
};

/// The barriers in a block's shared memory. A barrier is a word there: it counts arrivals and bytes, and turns over to
/// its next phase when both are complete. Copies arrive when a phase that needs them is waited for and no sooner, so
/// that a kernel which forgets to wait gets old data. Misuse that hardware answers with anything at all throws
/// Error(device).
class SharedBarriers {
public:
    void reset() { copies_.clear(); }

    void init(void* barrier, unsigned arrivals) const;
    /// True where that completes the phase.
    [[nodiscard]] bool arrive(void* barrier, unsigned arrivals, unsigned bytes) const;
    /// `at_once`: the bytes land now, as they may, and count later all the same.
    void start(const BarrierCopy& copy, bool at_once = false);

    /// Whether the phase of this parity (0, 1, 0, 1, ...) is complete: the current one has the other.
    [[nodiscard]] static bool is_complete(const void* barrier, unsigned parity);
    /// Delivers the copies that complete the current phase, for somebody who waits for it. True where they are all
    /// there.
    [[nodiscard]] bool settle(void* barrier);

    [[nodiscard]] bool any_copies() const { return !copies_.empty(); }
    /// "lacks 2 arrivals and 128 bytes, of which 64 are under way"
    [[nodiscard]] std::string missing(const void* barrier) const;

private:
    [[nodiscard]] std::size_t bytes_under_way(const void* barrier) const;

    std::vector<BarrierCopy> copies_;  // oldest first
};

}  // namespace tconv::emulator
