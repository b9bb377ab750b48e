#pragma once

#include <array>
#include <cstdint>

#include "device/emulator/emulator_abi.hpp"

namespace tconv::emulator {

/// Adds one thread's part of a warpgroup's product to its sums, or replaces them where `add` is 0. `thread` counts
/// within the warpgroup.
void multiply_warpgroup(const tconv_emulator::Product& product, std::uint32_t thread, float* sums,
                        const tconv_emulator::LeftOperand& a, std::uint64_t b, bool add);

/// What a lane brings to a warp's product: 4 sums, 4 registers of A, 2 of B.
struct WarpOperands {
    float* sums;
    const unsigned* a;
    const unsigned* b;
};

/// Adds a warp's product of 16 x 8 to the sums of its lanes.
void multiply_warp(tconv_emulator::Element element, const std::array<WarpOperands, 32>& lanes);

}  // namespace tconv::emulator
