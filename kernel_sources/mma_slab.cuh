// Products of four warps where what a lane reads of a row serves all taps along the width. A lane's two positions are
// neighbours: with kernel 3 four words in a row have both of them at each offset.
#pragma once

#include "mma_group.cuh"

namespace tconv::product {

constexpr bool reuse_columns = config::reuse_columns != 0;

/// Planes whose words are in registers at once: all, where pairs of offsets go from one to the next.
constexpr int slab_planes = tap_pairs ? AxisD::offsets : 1;
/// Offsets of a row that are multiplied one after the other, or pairs of them.
constexpr int slab_offsets = slab_planes * AxisW::offsets;
constexpr int slab_items = tap_pairs ? (slab_offsets + 1) / 2 : slab_offsets;
static_assert(!reuse_columns || reused_rows * slab_items % ring_fragments == 0,
              "a slab goes round the ring of fragments some whole times");

/// Words that are read come two by two, so that they may begin one before the first that is needed.
constexpr int slab_lead = boxes || vector > 1 ? static_cast<int>((AxisW::first_position(0) + AxisW::halo) % 2) : 0;
constexpr int slab_pairs = (AxisW::offsets + 2 + slab_lead) / 2;

/// A lane's words of one row: of the first and the second half of a step, from the last offset on.
struct Slab {
    Floats<2> words[slab_planes][2][slab_pairs];

    /// The word that position `number` of two reads at offset `offset`.
    __device__ __forceinline__ float word(int offset, int half, int number) const {
        const int word = slab_lead + AxisW::offsets - 1 - offset % AxisW::offsets + number;
        return words[offset / AxisW::offsets][half][word / 2].v[word % 2];
    }
};

/// `first` is the word that the first position of row 0 reads at offset 0 of the axes, of those along the height at the
/// last one where rows serve several.
__device__ __forceinline__ Slab load_slab(const u32* first) {
    Slab slab;
#pragma unroll
    for (int plane = 0; plane < slab_planes; ++plane) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const u32* words = first - plane * AxisD::unit * (rows_h * row_pitch) - (AxisW::offsets - 1 + slab_lead);
#pragma unroll
            for (int i = 0; i < slab_pairs; ++i)
                slab.words[plane][half][i] = load<2>(reinterpret_cast<const float*>(words + half * half_pitch + 2 * i));
        }
    }
    return slab;
}

template <Step S>
__device__ __forceinline__ InputFragment fragment_of(const Slab& slab, int offset) {
    InputFragment fragment{};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float other = S == Step::pair ? slab.word(offset + 1, half, i) : 0.0f;
            prepare<S>(slab.word(offset, half, i), other, fragment.high[2 * half + i], fragment.low[2 * half + i]);
        }
    }
    return fragment;
}

/// The products of one row of fragments at one of its offsets, or a pair of them.
template <Step S>
__device__ __forceinline__ void multiply_item(Sums& sums, int row, InputFragment& input, const Slab& slab, int offset,
                                              int h, PlainOperand weights) {
    constexpr Reach everywhere{0, 0, AxisD::mask(0), AxisW::mask(0)};
    input = fragment_of<S>(slab, offset);
    wgmma_fence();
    start_row<S>(sums, row, input, everywhere, h, weights);
    end_group();
}

/// The rows of fragments of a step at the offsets of a slab. The next row is on its way while one is multiplied.
template <class Between>
__device__ __forceinline__ void multiply_slab(Sums& sums, Rows& rows, const u32* stage, int h, int item_bytes,
                                              PlainOperand weights, const Between& between) {
    constexpr bool ahead = slab_planes == 1;
    const PlainOperand operand = plain_of_warp(weights);
    const auto load_row = [&](int row) {
        return load_slab(stage + rows.word[reuse_rows ? 0 : row][0] + (reuse_rows ? row * row_words : 0));
    };
    Slab slabs[2];
    slabs[0] = load_row(0);
#pragma unroll
    for (int row = 0; row < reused_rows; ++row) {
        if (ahead && row + 1 < reused_rows) slabs[(row + 1) % 2] = load_row(row + 1);
        if (!ahead && row > 0) slabs[row % 2] = load_row(row);
#pragma unroll
        for (int item = 0; item < slab_items; ++item) {
            InputFragment& input = rows.ring[(row * slab_items + item) % ring_fragments];
            const PlainOperand item_weights = plain_after(operand, item * item_bytes);
            if constexpr (!tap_pairs) {
                multiply_item<Step::channels>(sums, row, input, slabs[row % 2], item, h, item_weights);
            } else if (2 * item + 1 < slab_offsets) {
                multiply_item<Step::pair>(sums, row, input, slabs[row % 2], 2 * item, h, item_weights);
            } else {
                multiply_item<Step::single>(sums, row, input, slabs[row % 2], 2 * item, h, item_weights);
            }
        }
        if (row + 1 == reused_rows || looks_up((row + 1) * slab_items, 3 * slab_items)) between();
    }
    end_body();
}

template <class Between>
__device__ __forceinline__ void multiply_slabs(Sums& sums, Rows& rows, const Chunk& chunk, PlainOperand weights,
                                               const Between& between) {
    const int tap_bytes = 4 * tap_words * sum_phases;
    const int step_bytes = chunk.count_h * tap_bytes;
#pragma unroll 1
    for (int d = 0; d < chunk.count_d; d += slab_planes) {
#pragma unroll 1
        for (int step = 0; step < steps; ++step) {
#pragma unroll 1
            for (int h = 0; h < (reuse_rows ? 1 : chunk.count_h); ++h) {
                const int above = reuse_rows ? AxisH::offsets - 1 : offset_of<AxisH>(chunk.place.run_h, h);
                const u32* stage =
                    chunk.stage + step * (step_words * word_pitch) - words_back(chunk.place, d, 0) - above * row_words;
                const int before = (d * AxisW::offsets * steps + step) * step_bytes + h * tap_bytes;
                multiply_slab(sums, rows, stage, h, steps * step_bytes, plain_after(weights, before), between);
            }
        }
    }
}

}  // namespace tconv::product
