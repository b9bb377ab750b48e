#pragma once

#include "tconv.cuh"

namespace tconv {

/// Taps of one phase of one axis: kernel indices first, first + kernel_step, ...; tap j reads input position q - offset
/// - j * offset_step, where q = (output + padding) / stride.
struct Taps {
    int first;
    int count;
    int offset;
};

/// What the prelude says of one axis; one with a single input has a stride as long as its kernel's reach.
template <i64 Kernel, i64 Stride, i64 Dilation, i64 Divisor, i64 Inverse>
struct AxisPhases {
    static constexpr i64 kernel_step = Stride / Divisor;
    static constexpr i64 offset_step = Dilation / Divisor;
    static constexpr i64 max_taps = (Kernel + kernel_step - 1) / kernel_step;
    static constexpr i64 halo = (Kernel - 1) * Dilation / Stride;

    __device__ static constexpr Taps taps(i64 phase) {
        if (phase % Divisor != 0) return {0, 0, 0};
        const i64 first = phase / Divisor * Inverse % kernel_step;
        if (first >= Kernel) return {0, 0, 0};
        return {static_cast<int>(first), static_cast<int>((Kernel - 1 - first) / kernel_step + 1),
                static_cast<int>((first * Dilation - phase) / Stride)};
    }
};

}  // namespace tconv
