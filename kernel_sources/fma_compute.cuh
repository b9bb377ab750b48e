// The products of one chunk of channels in plain fp32 arithmetic: every offset of the block's taps against its
// positions and columns.
#pragma once

#include "fma_shape.cuh"
#include "product_shape.cuh"

namespace tconv::product {

/// Words of weights that a lane reads at once; the lanes of a warp along the columns lie side by side.
constexpr int weight_vector = step_channels * lane_columns % 4 == 0 ? 4 : step_channels * lane_columns % 2 == 0 ? 2 : 1;
constexpr int warp_words = step_channels * lane_columns * column_lanes;

/// Words of the input that a lane reads at once: where the channels of a position lie side by side.
constexpr int input_vector = channels_last ? (step_words % 4 == 0 ? 4 : step_words % 2 == 0 ? 2 : 1) : 1;

/// A position's input of one step.
struct InputStep {
    float channel[step_channels];
};

/// A 16-bit element in half `half` of a word.
template <class T>
__device__ __forceinline__ float half_of(float word, int half) {
    return to_float(T{static_cast<u16>(__float_as_uint(word) >> (16 * half))});
}

template <class T>
__device__ __forceinline__ InputStep load_input(const u32* words) {
    InputStep input{};
#pragma unroll
    for (int word = 0; word < step_words; word += input_vector) {
        const auto loaded = load<input_vector>(reinterpret_cast<const float*>(words + word * word_pitch));
#pragma unroll
        for (int i = 0; i < input_vector; ++i) {
            if constexpr (sizeof(T) == 2) {
                input.channel[2 * (word + i)] = half_of<T>(loaded.v[i], 0);
                input.channel[2 * (word + i) + 1] = half_of<T>(loaded.v[i], 1);
            } else {
                input.channel[word + i] = loaded.v[i];
            }
        }
    }
    return input;
}

struct WeightStep {
    float word[step_channels * lane_columns];
};

__device__ __forceinline__ WeightStep load_weights(const u32* words) {
    WeightStep weights{};
#pragma unroll
    for (int word = 0; word < step_channels * lane_columns; word += weight_vector) {
        const auto loaded = load<weight_vector>(reinterpret_cast<const float*>(words + word * column_lanes));
#pragma unroll
        for (int i = 0; i < weight_vector; ++i)
            weights.word[word + i] = loaded.v[i];
    }
    return weights;
}

/// Words from the stage's start to the lane's position of each of its fragments, at offset 0 of every axis.
struct Rows {
    int word[m_fragments];
};

__device__ __forceinline__ Rows rows_of_lane(int warp_m, int lead) {
    Rows rows{};
#pragma unroll
    for (int fragment = 0; fragment < m_fragments; ++fragment) {
        Position p = position_of(warp_m, fragment, fragment_row(0));
        if (!in_tile(p)) p = {};
        const int row = (p.n * rows_d + p.d + AxisD::halo) * rows_h + p.h + AxisH::halo;
        rows.word[fragment] = (row * row_pitch + p.w + AxisW::halo + lead) * position_pitch;
    }
    return rows;
}

/// One offset: the positions `input[first...]` against the weights of every phase that has a tap here. `weights` moves
/// on.
template <int Count>
__device__ __forceinline__ void multiply_tap(Sums& sums, const InputStep (&input)[Count], int first, u32 mask_d,
                                             u32 mask_h, u32 mask_w, const u32*& weights) {
#pragma unroll
    for (int phase = 0; phase < sum_phases; ++phase) {
        const bool tapped = (AxisD::uniform || (mask_d >> phase / (AxisH::tapped * AxisW::tapped) & 1) != 0) &&
                            (AxisH::uniform || (mask_h >> phase / AxisW::tapped % AxisH::tapped & 1) != 0) &&
                            (AxisW::uniform || (mask_w >> phase % AxisW::tapped & 1) != 0);
        if (!tapped) continue;
        const WeightStep weight = load_weights(weights);
#pragma unroll
        for (int channel = 0; channel < step_channels; ++channel) {
#pragma unroll
            for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
                for (int column = 0; column < lane_columns; ++column) {
                    float& sum = sums[m][phase][column / fragment_sums][column % fragment_sums];
                    sum = fmaf(input[first + m].channel[channel], weight.word[channel * lane_columns + column], sum);
                }
            }
        }
        weights += tap_words;
    }
}

/// Words that offset `number` of an axis goes back.
template <class A>
__device__ __forceinline__ int offset_of(const Run& run, int number) {
    return run.first_offset + number * A::unit;
}

constexpr int row_words = row_pitch * position_pitch;
/// Rows of positions that serve all taps along the height.
constexpr int reused_rows = reuse_rows ? m_fragments + (AxisH::offsets - 1) * AxisH::unit : m_fragments;

// Offsets of an axis in one unrolled body: several where its phases are joined.
constexpr int unrolled_d = AxisD::joined ? config::unroll_taps : 1;
constexpr int unrolled_h = AxisH::joined ? config::unroll_taps : 1;
constexpr int unrolled_w = AxisW::joined ? config::unroll_taps : 1;

/// Steps in one unrolled body, so that it has some 1,000 multiplications.
__device__ constexpr int make_unrolled_steps() {
    int count = 1;
    while (2 * count <= steps && 2 * count * config::step_body <= 1024)
        count *= 2;
    return count;
}
constexpr int unrolled_steps = make_unrolled_steps();

/// All steps at one offset along depth and width: rows that lie above each other serve all offsets along the height.
__device__ __forceinline__ void multiply_reusing(Sums& sums, const u32* stage, const Rows& rows, const Place& place,
                                                 int back, u32 mask_d, u32 mask_w, const u32*& weights) {
    const u32* first = stage + rows.word[0] - back - offset_of<AxisH>(place.run_h, AxisH::offsets - 1) * row_words;
#pragma unroll unrolled_steps
    for (int step = 0; step < steps; ++step) {
        InputStep input[reused_rows];
#pragma unroll
        for (int row = 0; row < reused_rows; ++row)
            input[row] = load_input<Element>(first + step * (step_words * word_pitch) + row * row_words);
#pragma unroll
        for (int h = 0; h < AxisH::offsets; ++h)
            multiply_tap(sums, input, (AxisH::offsets - 1 - h) * AxisH::unit, mask_d, AxisH::mask(h), mask_w, weights);
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
            for (int m = 0; m < m_fragments; ++m)
                input[m] = load_input<Element>(positions[m] + step * (step_words * word_pitch));
            multiply_tap(sums, input, 0, mask_d, AxisH::mask(h), mask_w, weights);
        }
    }
}

/// All products of the chunk whose input is in `stage`.
template <class Between>
__device__ __forceinline__ void multiply_chunk(Sums& sums, const u32* stage, const u32* weights, const Rows& rows,
                                               const Place& place, int warp_n, const Between&) {
    weights += warp_n * warp_words + threadIdx.x % column_lanes * weight_vector;
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
