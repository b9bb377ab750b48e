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

/// The taps of every phase in closed form, so that a kernel needs no table however large the stride is. Phase r has
/// taps only when `divisor` divides r; they are k = k0 + j * kernel_step with offsets e0 + j * offset_step for j = 0,
/// 1, ... while k < kernel, where k0 = (r / divisor * inverse) mod kernel_step and e0 = (k0 * dilation - r) / stride.
struct TapPattern {
    std::int64_t divisor = 1;      ///< gcd(stride, dilation)
    std::int64_t inverse = 0;      ///< of dilation / divisor modulo kernel_step
    std::int64_t kernel_step = 1;  ///< stride / divisor
    std::int64_t offset_step = 1;  ///< dilation / divisor
    friend bool operator==(const TapPattern&, const TapPattern&) = default;
};

[[nodiscard]] TapPattern tap_pattern(std::int64_t stride, std::int64_t dilation);

/// Most taps that any phase of the axis has.
[[nodiscard]] std::int64_t max_taps(std::int64_t kernel, std::int64_t stride, std::int64_t dilation);

/// Largest tap offset over all phases: the halo that a tile of outputs needs to its left.
[[nodiscard]] std::int64_t halo(std::int64_t kernel, std::int64_t stride, std::int64_t dilation);

}  // namespace tconv
