// The products of one chunk of channels in plain fp32 arithmetic: every offset of the block's taps against its
// positions and columns.
#pragma once

#include "fma_windows.cuh"

namespace tconv::product {

/// Rows of positions that serve all taps along the height.
constexpr int reused_rows = reuse_rows ? m_fragments + (AxisH::offsets - 1) * AxisH::unit : m_fragments;

/// Steps in one unrolled body, so that it has some 1,000 multiplications.
__device__ constexpr int make_unrolled_steps() {
    int count = 1;
    while (2 * count <= steps && 2 * count * config::step_body <= 1024)
        count *= 2;
    return count;
}
constexpr int unrolled_steps = make_unrolled_steps();

/// All taps along the height of a phase, row by row: an input meets the columns of every tap that it has.
constexpr bool rows_first = reuse_rows && sum_phases == 1 && AxisH::offsets * lane_columns * weight_channels <= 48;
__device__ __forceinline__ void multiply_rows(Sums& sums, const InputStep (&input)[reused_rows], const u32*& weights) {
#pragma unroll
    for (int channel = 0; channel < step_channels; channel += weight_channels) {
        Weights taps[AxisH::offsets];
#pragma unroll
        for (int h = 0; h < AxisH::offsets; ++h)
            taps[h] = load_weights(weights + h * tap_words, channel);
#pragma unroll
        for (int i = 0; i < weight_channels * reused_rows * AxisH::offsets; ++i) {
            const int c = i / (reused_rows * AxisH::offsets);
            const int row = i / AxisH::offsets % reused_rows;
            const int h = i % AxisH::offsets;
            const int m = row - (AxisH::offsets - 1 - h) * AxisH::unit;
            if (m < 0 || m >= m_fragments) continue;
#pragma unroll
            for (int column = 0; column < lane_columns; ++column) {
                float& sum = sums[m][0][column / fragment_sums][column % fragment_sums];
                sum = fmaf(input[row].channel[channel + c], taps[h].word[c * lane_columns + column], sum);
            }
        }
    }
    weights += AxisH::offsets * tap_words;
}

/// All steps at one offset along depth and width: rows that lie above each other serve all offsets along the height.
__device__ __forceinline__ void multiply_reusing(Sums& sums, const u32* stage, const Rows& rows, const Place& place,
                                                 int back, u32 mask_d, u32 mask_w, const u32*& weights) {
    const u32* first = stage + rows.word[0] - back - offset_of<AxisH>(place.run_h, AxisH::offsets - 1) * row_words;
#pragma unroll unrolled_steps
    for (int step = 0; step < steps; ++step) {
        InputStep input[reused_rows];
#pragma unroll
        for (int row = 0; row < reused_rows; ++row)
            input[row] = load_input(first + step * (step_words * word_pitch) + row * row_words);
        if constexpr (rows_first) {
            multiply_rows(sums, input, weights);
            continue;
        }
#pragma unroll
        for (int h = 0; h < AxisH::offsets; ++h)
            multiply_tap(sums, input, (AxisH::offsets - 1 - h) * AxisH::unit, {mask_d, AxisH::mask(h), mask_w},
                         weights);
    }
}

/// The same where every offset loads its own positions.
__device__ __forceinline__ void multiply_each(Sums& sums, const u32* stage, const Rows& rows, const Place& place,
                                              int back, u32 mask_d, u32 mask_w, const u32*& weights) {
#pragma unroll unrolled_h
    for (int h = 0; h < place.run_h.count; ++h) {
        const u32* positions[m_fragments];
#pragma unroll
        for (int m = 0; m < m_fragments; ++m)
            positions[m] = stage + rows.word[m] - back - offset_of<AxisH>(place.run_h, h) * row_words;
#pragma unroll unrolled_steps
        for (int step = 0; step < steps; ++step) {
            InputStep input[m_fragments];
#pragma unroll
            for (int m = 0; m < m_fragments; m += row_vector)
                load_inputs(input, m, positions[m] + step * (step_words * word_pitch));
            multiply_tap(sums, input, 0, {mask_d, AxisH::mask(h), mask_w}, weights);
        }
    }
}

/// All products of the chunk whose input is in `stage`.
template <class Between>
__device__ __forceinline__ void multiply_chunk(Sums& sums, const u32* stage, const u32* weights, const Rows& rows,
                                               const Place& place, int warp_n, const Between&) {
    weights += warp_n * warp_words + column_lane() * weight_vector;
    if constexpr (windows) {
        multiply_chunk_windows(sums, stage, weights, rows, place);
        return;
    }
#pragma unroll unrolled_d
    for (int d = 0; d < place.run_d.count; ++d) {
#pragma unroll unrolled_w
        for (int w = 0; w < place.run_w.count; ++w) {
            const int back =
                (offset_of<AxisD>(place.run_d, d) * (rows_h * row_pitch) + offset_of<AxisW>(place.run_w, w)) *
                position_pitch;
            if constexpr (reuse_rows)
                multiply_reusing(sums, stage, rows, place, back, AxisD::mask(d), AxisW::mask(w), weights);
            else
                multiply_each(sums, stage, rows, place, back, AxisD::mask(d), AxisW::mask(w), weights);
        }
    }
}

__device__ __forceinline__ void show_weights() {}
__device__ __forceinline__ void finish_products(Sums&) {}

}  // namespace tconv::product
