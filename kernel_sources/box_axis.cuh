// An axis of the image as a thread sees it that computes all phases of some positions.
#pragma once

#include "elements.cuh"

namespace tconv::box {

/// Rounded down and up, also below zero.
__device__ constexpr i64 floor_div(i64 value, i64 divisor) {
    return value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor);
}
__device__ constexpr i64 ceil_div(i64 value, i64 divisor) {
    return -floor_div(-value, divisor);
}

/// An axis of a thread. Thread t computes `Positions` times all phases, which are outputs t * outputs - Shift and the
/// following, from a window of inputs that begins at t * Positions + first. Both begin at a multiple of t, so which
/// input meets which output with which tap is known to the compiler, whatever the padding.
template <i64 Kernel, i64 Stride, i64 Padding, i64 Dilation, i64 Input, i64 Output, int Positions, int Shift>
struct Axis {
    static constexpr int kernel = static_cast<int>(Kernel);
    static constexpr i64 padding = Padding;
    static constexpr i64 dilation = Dilation;
    static constexpr int positions = Positions;
    static constexpr int outputs = static_cast<int>(Positions * Stride);
    static constexpr int shift = Shift;
    static constexpr Index input = static_cast<Index>(Input);
    static constexpr Index output = static_cast<Index>(Output);
    static constexpr i64 lead = Padding - Shift;
    static constexpr int first = static_cast<int>(ceil_div(lead - (Kernel - 1) * Dilation, Stride));
    static constexpr int window = static_cast<int>(floor_div(outputs - 1 + lead, Stride)) - first + 1;
    /// Threads along the whole axis.
    static constexpr i64 threads = ceil_div(Output + Shift, outputs);

    /// The thread's output that input `number` of the window reaches with tap `k`, or -1.
    __device__ static constexpr int reached(int number, int k) {
        const i64 reached = (first + number) * Stride + k * Dilation - lead;
        return reached >= 0 && reached < outputs ? static_cast<int>(reached) : -1;
    }
    /// The tap with which input `number` of the window reaches the thread's output, or -1.
    __device__ static constexpr int tap(int output_number, int number) {
        const i64 distance = output_number + lead - (first + number) * Stride;
        if (distance < 0 || distance % Dilation != 0 || distance / Dilation >= Kernel) return -1;
        return static_cast<int>(distance / Dilation);
    }
    /// True where input `number` of thread t's window lies inside the tensor.
    __device__ static bool holds(Index t, int number) {
        const Index position = t * positions + first + number;
        return position >= 0 && position < input;
    }
    /// First output of thread t, which may lie before the tensor.
    __device__ static Index output_of(Index t) { return t * outputs - shift; }
    /// True where the thread's output lies inside the tensor.
    __device__ static bool yields(Index t, int number) {
        const Index position = output_of(t) + number;
        return (shift == 0 || position >= 0) && position < output;
    }
};

}  // namespace tconv::box
