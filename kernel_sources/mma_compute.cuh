// The products of one chunk of channels: every offset of the block's taps against its positions and columns.
#pragma once

#include "mma_shape.cuh"
#include "product_shape.cuh"

namespace tconv::product {

/// What a step along K takes of a position: `step_words` words at one offset; 8 channels at two offsets; or, for an
/// offset that no other one goes with, 8 channels as high and low part side by side.
enum class Step { channels, pair, single };

/// A lane's input of 16 positions and one step along K.
struct InputFragment {
    u32 high[4];
    u32 low[4];  // where values are split
};

/// Words from one lane's first word of 8 to the next lane's, and to its own second one.
constexpr int lane_pitch = (neighbours ? 2 : 1) * word_pitch;
constexpr int half_pitch = (neighbours ? 1 : 4) * word_pitch;

/// A word of both of a lane's positions.
__device__ __forceinline__ Floats<2> load_rows(const u32* row, const u32* second_row) {
    if constexpr (row_pairs) return load<2>(reinterpret_cast<const float*>(row));
    return {{__uint_as_float(*row), __uint_as_float(*second_row)}};
}

/// `row` and `second_row` are the lane's words of its two positions: words 0, 4 (and 8, 12) of the step are its own, or
/// 0, 1 (and 8, 9). A pair's second offset is `next` words on.
template <Step S>
__device__ __forceinline__ InputFragment load_input_fragment(const u32* row, const u32* second_row, int next) {
    InputFragment fragment{};
    constexpr bool two_words = bf16_thrice && S != Step::single;
    const int second = S == Step::pair ? next : half_pitch;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int first = half * (two_words && S == Step::channels ? 8 * word_pitch : half_pitch);
        const Floats<2> words = load_rows(row + first, second_row + first);
        Floats<2> others{};
        if constexpr (two_words) others = load_rows(row + first + second, second_row + first + second);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            u32& high = fragment.high[2 * half + i];
            u32& low = fragment.low[2 * half + i];
            if constexpr (two_words) {
                split_bf16(words.v[i], others.v[i], high, low);
            } else if constexpr (S == Step::single) {
                high = split_bf16(words.v[i]);
            } else if constexpr (tf32_thrice) {
                split_tf32(words.v[i], high, low);
            } else if constexpr (tf32_once && !boxes) {
                high = round_to_tf32(words.v[i]);
            } else {
                high = __float_as_uint(words.v[i]);  // boxes come rounded to TF32
            }
        }
    }
    return fragment;
}

struct WeightFragment {
    u32 high[2];
    u32 low[2];
};

__device__ __forceinline__ WeightFragment load_weight_fragment(const u32* words) {
    WeightFragment fragment{};
    const auto loaded = load<fragment_registers>(reinterpret_cast<const float*>(words));
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        fragment.high[i] = __float_as_uint(loaded.v[i]);
        if constexpr (split) fragment.low[i] = __float_as_uint(loaded.v[2 + i]);
    }
    return fragment;
}

template <bool Native>
struct OperandOf {
    using type = Element;
};
template <>
struct OperandOf<false> {
    using type = tf32;
};

/// Small products first.
template <Step S>
__device__ __forceinline__ void multiply(float (&sums)[4], const InputFragment& input, const WeightFragment& weight) {
    if constexpr (S == Step::single) {
        mma_16x8<bf16>(sums, input.high, weight.low);
        mma_16x8<bf16>(sums, input.high, weight.high);
    } else if constexpr (bf16_thrice) {
        mma_16x8<bf16>(sums, input.low, weight.high);
        mma_16x8<bf16>(sums, input.high, weight.low);
        mma_16x8<bf16>(sums, input.high, weight.high);
    } else if constexpr (tf32_thrice) {
        mma_16x8<tf32>(sums, input.low, weight.high);
        mma_16x8<tf32>(sums, input.high, weight.low);
        mma_16x8<tf32>(sums, input.high, weight.high);
    } else {
        mma_16x8<OperandOf<native>::type>(sums, input.high, weight.high);
    }
}

/// Words from the stage's start to the lane's two positions of each of its fragments, at offset 0 of every axis.
struct Rows {
    int word[m_fragments][2];
};

__device__ __forceinline__ Rows rows_of_lane(int warp_m, int lead) {
    Rows rows{};
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int fragment = 0; fragment < m_fragments; ++fragment) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            Position p = position_of(warp_m, fragment, lane_row(half));
            if (!in_tile(p)) p = {};
            const int row = (p.n * rows_d + p.d + AxisD::halo) * rows_h + p.h + AxisH::halo;
            rows.word[fragment][half] =
                (row * row_pitch + p.w + AxisW::halo + lead) * position_pitch + lane % 4 * lane_pitch;
        }
    }
    return rows;
}

/// One offset: the fragments `input[first...]` against the weights of every phase that has a tap here. `weights` moves
/// on.
template <Step S, int Count>
__device__ __forceinline__ void multiply_tap(Sums& sums, const InputFragment (&input)[Count], int first, u32 mask_d,
                                             u32 mask_h, u32 mask_w, const u32*& weights) {
#pragma unroll
    for (int phase = 0; phase < sum_phases; ++phase) {
        if constexpr (!packed) {
            const bool tapped = (AxisD::uniform || (mask_d >> phase / (AxisH::tapped * AxisW::tapped) & 1) != 0) &&
                                (AxisH::uniform || (mask_h >> phase / AxisW::tapped % AxisH::tapped & 1) != 0) &&
                                (AxisW::uniform || (mask_w >> phase % AxisW::tapped & 1) != 0);
            if (!tapped) continue;
        }
#pragma unroll
        for (int n = 0; n < n_fragments; ++n) {
            const WeightFragment weight = load_weight_fragment(weights + n * (32 * fragment_registers));
#pragma unroll
            for (int m = 0; m < m_fragments; ++m)
                multiply<S>(sums[m][phase][n], input[first + m], weight);
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
constexpr bool reuse_rows = config::reuse_rows != 0;
/// Rows of fragments that serve all taps along the height.
constexpr int reused_rows = reuse_rows ? m_fragments + AxisH::offsets - 1 : m_fragments;

/// Where a step reads along depth and width: words back from the position to the first offset, and from there to a
/// pair's second one; which phases have a tap there.
struct Reach {
    int back;
    int next;
    u32 mask_d;
    u32 mask_w;
};

/// One step along K at one offset along depth and width, or two: all offsets along the height. Rows that lie above each
/// other serve several of them.
template <Step S>
__device__ __forceinline__ void multiply_step(Sums& sums, const u32* stage, const Rows& rows, const Place& place,
                                              const Reach& reach, const u32*& weights) {
    if constexpr (reuse_rows) {
        InputFragment input[reused_rows];
#pragma unroll
        for (int row = 0; row < reused_rows; ++row) {
            const int above = (AxisH::offsets - 1 - row) * row_words + reach.back;
            input[row] =
                load_input_fragment<S>(stage + rows.word[0][0] - above, stage + rows.word[0][1] - above, reach.next);
        }
#pragma unroll
        for (int h = 0; h < AxisH::offsets; ++h)
            multiply_tap<S>(sums, input, AxisH::offsets - 1 - h, reach.mask_d, AxisH::mask(h), reach.mask_w, weights);
    } else {
#pragma unroll config::unroll_taps
        for (int h = 0; h < place.run_h.count; ++h) {
            const int above = offset_of<AxisH>(place.run_h, h) * row_words + reach.back;
            InputFragment input[m_fragments];
#pragma unroll
            for (int m = 0; m < m_fragments; ++m)
                input[m] = load_input_fragment<S>(stage + rows.word[m][0] - above, stage + rows.word[m][1] - above,
                                                  reach.next);
            multiply_tap<S>(sums, input, 0, reach.mask_d, AxisH::mask(h), reach.mask_w, weights);
        }
    }
}

template <Step S>
__device__ __forceinline__ void multiply_steps(Sums& sums, const u32* stage, const Rows& rows, const Place& place,
                                               const Reach& reach, const u32*& weights) {
#pragma unroll
    for (int step = 0; step < steps; ++step)
        multiply_step<S>(sums, stage + step * (step_words * word_pitch), rows, place, reach, weights);
}

__device__ __forceinline__ int words_back(const Place& place, int d, int w) {
    return (offset_of<AxisD>(place.run_d, d) * (rows_h * row_pitch) + offset_of<AxisW>(place.run_w, w)) *
           position_pitch;
}

/// The offsets along depth and width two by two; the last one stands alone where their number is odd. Every phase has a
/// tap at each of them.
__device__ __forceinline__ void multiply_pairs(Sums& sums, const u32* stage, const Rows& rows, const Place& place,
                                               const u32*& weights) {
    const int count_w = AxisW::joined ? AxisW::offsets : place.run_w.count;
    const int count = (AxisD::joined ? AxisD::offsets : place.run_d.count) * count_w;
    Reach reach{0, 0, AxisD::mask(0), AxisW::mask(0)};
    int number = 0;
#pragma unroll 1
    for (; number + 1 < count; number += 2) {
        reach.back = words_back(place, number / count_w, number % count_w);
        reach.next = reach.back - words_back(place, (number + 1) / count_w, (number + 1) % count_w);
        multiply_steps<Step::pair>(sums, stage, rows, place, reach, weights);
    }
    if (number < count) {
        reach.back = words_back(place, number / count_w, number % count_w);
        multiply_steps<Step::single>(sums, stage, rows, place, reach, weights);
    }
}

/// All products of the chunk whose input is in `stage`.
__device__ __forceinline__ void multiply_chunk(Sums& sums, const u32* stage, const u32* weights, const Rows& rows,
                                               const Place& place, int warp_n) {
    weights += (warp_n * n_fragments * 32 + threadIdx.x % 32) * fragment_registers;
    if constexpr (tap_pairs) {
        multiply_pairs(sums, stage, rows, place, weights);
    } else {
#pragma unroll 1
        for (int d = 0; d < place.run_d.count; ++d) {
#pragma unroll config::unroll_taps
            for (int w = 0; w < place.run_w.count; ++w) {
                const Reach reach{words_back(place, d, w), 0, AxisD::mask(d), AxisW::mask(w)};
                multiply_steps<Step::channels>(sums, stage, rows, place, reach, weights);
            }
        }
    }
}

}  // namespace tconv::product
