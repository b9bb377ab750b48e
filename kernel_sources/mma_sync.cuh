// The products of one chunk of channels by mma.sync: every offset of the block's taps against its positions and
// columns.
#pragma once

#include "mma_input.cuh"

namespace tconv::product {

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
        mma_16x8<Operand>(sums, input.high, weight.high);
    }
}

/// One offset: the fragments `input[first...]` against the weights of every phase that has a tap here. `weights` moves
/// on.
template <Step S, int Count>
__device__ __forceinline__ void multiply_tap(Sums& sums, const InputFragment (&input)[Count], int first, u32 mask_d,
                                             u32 mask_h, u32 mask_w, const u32*& weights) {
#pragma unroll
    for (int phase = 0; phase < sum_phases; ++phase) {
        if (!packed && !has_tap(phase, mask_d, mask_h, mask_w)) continue;
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

__device__ __forceinline__ void multiply_by_warps(Sums& sums, const u32* stage, const u32* weights, const Rows& rows,
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
