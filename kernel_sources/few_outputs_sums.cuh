// The sums of a thread's outputs, and a row of the input multiplied into them, wherever it was read.
#pragma once

#include "box_load.cuh"

namespace tconv::few_outputs {

using namespace box;

constexpr int splits = config::splits;
constexpr bool by_phase = config::tap_order == 1;
constexpr int sum_count = channels * AxisD::outputs * AxisH::outputs * AxisW::outputs;

/// Weights in shared memory: [input channel][output channel][tap], taps in whole vectors.
constexpr int taps_pitch = (taps + 3) / 4 * 4;
constexpr int channel_pitch = channels * taps_pitch;

__device__ __forceinline__ void stage_weights(float* shared, const Element* weight, const Place& tile) {
    const i64 group = static_cast<i64>(group_of(tile)) * (in_group * out_group) * taps;
    const int first = static_cast<int>(tile.plane % group_planes) * channels;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < in_group * channels * taps; i += threads * splits) {
        // In the order of the tensor.
        const int in = i / (channels * taps);
        const int tap = channels_last ? i / channels % taps : i % taps;
        const int out = channels_last ? i % channels : i / taps % channels;
        shared[in * channel_pitch + out * taps_pitch + tap] = to_float(
            load_readonly(weight + group + weight_offset<int>(channels_last, in, first + out, tap, out_group, taps)));
    }
}

/// Number `i` of an axis' taps as they are multiplied: in their order, or those of one phase after those of another.
template <class Axis, i64 Stride>
__device__ constexpr int tap_in_turn(int i) {
    if (!by_phase) return i;
    for (int phase = 0; phase < Stride; ++phase) {
        const int count = (Axis::kernel - phase + static_cast<int>(Stride) - 1) / static_cast<int>(Stride);
        if (i < count) return phase + i * static_cast<int>(Stride);
        if (count > 0) i -= count;
    }
    return i;
}

/// Channel `in` of an input row against row (kd, kh) of the kernel, for the thread's output row (jd, jh). By phases it
/// goes back and forth along the row, so that many a multiplication has a factor of the one before.
template <class AnyRow>
__device__ __forceinline__ void add_row(Sums& sums, const AnyRow& row, int in, const float* weights, int jd, int jh,
                                        int kernel_row) {
#pragma unroll
    for (int c = 0; c < channels; ++c) {
#pragma unroll
        for (int i = 0; i < AxisW::kernel; ++i) {
            const int k = tap_in_turn<AxisW, problem::stride_w>(i);
            const int tap = in * channel_pitch + c * taps_pitch + kernel_row * AxisW::kernel + k;
            const float value = load<4>(weights + tap / 4 * 4).v[tap % 4];
#pragma unroll
            for (int step = 0; step < AxisW::window; ++step) {
                const int number = by_phase && i % 2 == 1 ? AxisW::window - 1 - step : step;
                const int jw = AxisW::reached(number, k);
                if (jw >= 0) sums[c][jd][jh][jw] = fmaf(row.at(in, number), value, sums[c][jd][jh][jw]);
            }
        }
    }
}

/// Input row `i` of the window against row `kernel_row` of the kernel.
template <class AnyRow>
__device__ __forceinline__ void add_row_pair(Sums& sums, const AnyRow& row, int in, const float* weights, int i,
                                             int kernel_row) {
    const int jd = AxisD::reached(i / AxisH::window, kernel_row / AxisH::kernel);
    const int jh = AxisH::reached(i % AxisH::window, kernel_row % AxisH::kernel);
    if (jd >= 0 && jh >= 0) add_row(sums, row, in, weights, jd, jh, kernel_row);
}

constexpr int kernel_rows = AxisD::kernel * AxisH::kernel;

/// Input row `i` of the window against all rows of the kernel that bring it to the thread's outputs.
template <class AnyRow>
__device__ __forceinline__ void add_input_row(Sums& sums, const AnyRow& row, const float* weights, int i) {
#pragma unroll
    for (int in = 0; in < in_span; ++in) {
#pragma unroll
        for (int j = 0; j < kernel_rows; ++j) {
            const int kd = tap_in_turn<AxisD, problem::stride_d>(j / AxisH::kernel);
            const int kh = tap_in_turn<AxisH, problem::stride_h>(j % AxisH::kernel);
            add_row_pair(sums, row, in, weights, i, kd * AxisH::kernel + kh);
        }
    }
}

/// Input rows `first` and following of the window, kernel row by kernel row: what is read of the weights serves
/// several.
template <int Count, class AnyRow>
__device__ __forceinline__ void add_rows(Sums& sums, const AnyRow (&row)[Count], const float* weights, int first) {
#pragma unroll
    for (int kernel_row = 0; kernel_row < kernel_rows; ++kernel_row) {
#pragma unroll
        for (int i = 0; i < Count; ++i)
            add_row_pair(sums, row[i], 0, weights, first + i, kernel_row);
    }
}

__device__ __forceinline__ void begin_sums(Sums& sums, const Element* bias, const Place& thread, bool first) {
    float* flat = &sums[0][0][0][0];
#pragma unroll
    for (int c = 0; c < channels; ++c) {
        float value = 0.0f;
        if constexpr (problem::bias) {
            if (first) value = to_float(load_readonly(bias + out_channel_of(thread) + c));
        }
#pragma unroll
        for (int i = 0; i < sum_count / channels; ++i)
            flat[c * (sum_count / channels) + i] = value;
    }
}

}  // namespace tconv::few_outputs
