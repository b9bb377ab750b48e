#pragma once

#include <cstdint>
#include <vector>

namespace tconv {

/// One tap of a phase: output o of the phase reads input (o + padding - phase) / stride - offset.
struct Tap {
    std::int64_t kernel_index = 0;
    std::int64_t offset = 0;  ///< (kernel_index * dilation - phase) / stride, exact and never negative
    friend bool operator==(const Tap&, const Tap&) = default;
};

/// Outputs o of one axis with (o + padding) mod stride == index; may have no tap (bias only).
struct Phase {
    std::int64_t index = 0;
    std::vector<Tap> taps;  ///< ascending kernel_index
    friend bool operator==(const Phase&, const Phase&) = default;
};

/// The `stride` phases of one axis, ascending. Every kernel tap belongs to exactly one phase.
[[nodiscard]] std::vector<Phase> axis_phases(std::int64_t kernel, std::int64_t stride, std::int64_t dilation);

/// Largest tap offset over all phases: the halo that a tile of outputs needs to its left.
[[nodiscard]] std::int64_t halo(std::int64_t kernel, std::int64_t stride, std::int64_t dilation);

}  // namespace tconv
