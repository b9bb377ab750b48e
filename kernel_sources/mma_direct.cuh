// A warp's accumulators to the output straight from registers: outputs of neighbouring positions lie in one lane
// (phases along the width, pairs of rows) or, with stride 1, in the 16 lanes that write a channel together.
#pragma once

#include "product_direct.cuh"

namespace tconv::product {

__device__ __forceinline__ bool is_inside(const Segment& target, int d, int h) {
    return (target.inside >> d & 1) != 0 && (target.inside >> (16 + h) & 1) != 0;
}

template <int N>
__device__ __forceinline__ void write_vector(float* target, const float* values) {
    Floats<N> vector;
#pragma unroll
    for (int i = 0; i < N; ++i)
        vector.v[i] = values[i];
    store_global<N>(target, vector);
}
template <int N, class T>
__device__ __forceinline__ void write_vector(T* target, const T* values) {
    if constexpr (N == 1) {
        *target = *values;
    } else {
        Floats<N / 2> words;
#pragma unroll
        for (int i = 0; i < N; i += 2)
            words.v[i / 2] = __uint_as_float(values[i].bits | static_cast<u32>(values[i + 1].bits) << 16);
        store_global<N / 2>(reinterpret_cast<float*>(target), words);
    }
}

/// Whether the runs of a row end where the output does.
constexpr bool whole_runs = divides_all(lane_run);

/// A lane's outputs of one row, the first of them at `out_w`.
__device__ __forceinline__ void write_run(Element* row, const Element (&run)[lane_run], Index out_w, bool aligned) {
    if (out_w >= AxisW::output || (whole_runs && out_w < 0)) return;
    if (aligned && (whole_runs || (out_w >= 0 && out_w + lane_run <= AxisW::output))) {
#pragma unroll
        for (int i = 0; i < lane_run; i += run_vector)
            write_vector<run_vector>(row + i, run + i);
        return;
    }
#pragma unroll
    for (int i = 0; i < lane_run; ++i)
        if (out_w + i >= 0 && out_w + i < AxisW::output) row[i] = run[i];
}

/// The outputs of one fragment at one phase along depth and height; `targets` are those of the lane's rows, or of both
/// as one.
__device__ __forceinline__ void write_fragment(const Sums& sums, int m, int n, int d, int h,
                                               const Segment (&targets)[2], const float (&biases)[2], int channel,
                                               Element* output, bool aligned) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
        if (channel + side >= out_group) continue;
        const Index line = line_offset({channel + side, d, h});
#pragma unroll
        for (int half = 0; half < (row_pairs ? 1 : 2); ++half) {
            Element run[lane_run];
#pragma unroll
            for (int i = 0; i < lane_run; ++i) {
                const int row = half + i / AxisW::block_phases;
                run[i] = from_float<Element>(sum_at(sums, m, n, 2 * row + side, d, h, i % AxisW::block_phases) +
                                             biases[side]);
            }
            if (is_inside(targets[half], d, h))
                write_run(output + targets[half].offset + line, run, targets[half].out_w, aligned);
        }
    }
}

/// One output a lane and row: lanes swap a row each, so that the even one of two has row lane / 4 of both lanes'
/// channels and the odd one the row 8 below. A store is then 16 positions of two channels.
__device__ __forceinline__ void write_swapped(const Sums& sums, int m, int n, int d, int h, const float (&biases)[2],
                                              int channel, Element* output, const Segment& target) {
    const bool odd = threadIdx.x % 2 != 0;
    const bool inside = is_inside(target, d, h) && target.out_w >= 0 && target.out_w < AxisW::output;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
        const float upper = sum_at(sums, m, n, side, d, h, 0) + biases[side];
        const float lower = sum_at(sums, m, n, 2 + side, d, h, 0) + biases[side];
        const float received = __shfl_xor_sync(0xffffffffu, odd ? upper : lower, 1);
        const int left = (channel & ~2) + side;  // of the even lane; the odd one's is two further
        Element* address = output + target.offset + line_offset({left, d, h});
        if (inside && left < out_group) *address = from_float<Element>(odd ? received : upper);
        if (inside && left + 2 < out_group)
            address[2 * static_cast<Index>(output_volume)] = from_float<Element>(odd ? lower : received);
    }
}

constexpr bool swaps_rows = lane_run == 1;

__device__ __forceinline__ void store_fragments(const Sums& sums, int m, const Place& place, int batch, int warp_m,
                                                const float (&biases)[n_fragments][2], int first_channel,
                                                Element* output, bool aligned) {
    const auto target_of_row = [&](int row) { return segment_of(place, output, batch, position_of(warp_m, m, row)); };
    const Segment targets[2] = {target_of_row(swaps_rows ? threadIdx.x % 32 / 4 + threadIdx.x % 2 * 8 : lane_row(0)),
                                target_of_row(lane_row(row_pairs ? 0 : 1))};
#pragma unroll
    for (int round = 0; round < rounds; ++round) {
        const int d = round / AxisH::block_phases;
        const int h = round % AxisH::block_phases;
#pragma unroll
        for (int n = 0; n < n_fragments; ++n) {
            const int channel = first_channel + fragment_columns * n + fragment_column(0);
            if constexpr (swaps_rows) {
                write_swapped(sums, m, n, d, h, biases[n], channel, output, targets[0]);
            } else {
                write_fragment(sums, m, n, d, h, targets, biases[n], channel, output, aligned);
            }
        }
    }
}

__device__ __forceinline__ void store_direct(const Sums& sums, const Element* bias, Element* output, const Place& place,
                                             int batch, int warp_m, int first_channel) {
    const bool aligned = boxes || reinterpret_cast<u64>(output) % (run_vector * sizeof(Element)) == 0;
    float biases[n_fragments][2];
#pragma unroll
    for (int n = 0; n < n_fragments; ++n) {
#pragma unroll
        for (int side = 0; side < 2; ++side)
            biases[n][side] = bias_at(bias, place, first_channel + fragment_columns * n + fragment_column(side));
    }
#pragma unroll
    for (int m = 0; m < m_fragments; ++m)
        store_fragments(sums, m, place, batch, warp_m, biases, first_channel, output, aligned);
}

}  // namespace tconv::product
