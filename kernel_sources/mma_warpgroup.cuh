// The products of one chunk of channels by wgmma (compute capability 9.0). Four neighbouring warps along the positions
// are a warpgroup: each brings its own fragments in registers, and the weights come from shared memory. Products run
// behind the loads of the fragments after them, which are loaded one by one in a ring of registers.
#pragma once

#include "mma_slab.cuh"

namespace tconv::product {

/// Offsets in one unrolled body, and the fragments of one of them.
constexpr int body_offsets = config::body_offsets;
constexpr int offset_fragments = reused_rows;
static_assert(!warpgroups || reuse_columns || body_offsets * offset_fragments % ring_fragments == 0,
              "a body goes round the ring of fragments some whole times");

/// Goes through the offsets of a chunk, and the steps at each, in the order of the packed weights. Where rows serve all
/// offsets along the height, those are one.
struct Walk {
    int d, w, step, h;

    __device__ __forceinline__ void advance_plane(const Chunk& chunk) {
        if (++w < chunk.count_w) return;
        w = 0;
        ++d;
    }
    template <Step S>
    __device__ __forceinline__ void advance(const Chunk& chunk) {
        if (!reuse_rows && ++h < chunk.count_h) return;
        h = 0;
        if (++step < steps) return;
        step = 0;
        advance_plane(chunk);
        if constexpr (S == Step::pair) advance_plane(chunk);
    }
};

template <Step S>
__device__ __forceinline__ Reach reach_of(const Chunk& chunk, const Walk& walk) {
    Reach reach{words_back(chunk.place, walk.d, walk.w), 0, AxisD::mask(walk.d), AxisW::mask(walk.w)};
    if constexpr (S == Step::pair) {
        Walk second = walk;
        second.advance_plane(chunk);
        reach.next = reach.back - words_back(chunk.place, second.d, second.w);
    }
    return reach;
}

template <Step S>
__device__ __forceinline__ InputFragment load_fragment(const Chunk& chunk, const Walk& walk, const Reach& reach,
                                                       int row) {
    const u32* stage = chunk.stage + walk.step * (step_words * word_pitch);
    const int m = reuse_rows ? 0 : row;
    const int above = reach.back + (reuse_rows ? (AxisH::offsets - 1 - row) * row_words
                                               : offset_of<AxisH>(chunk.place.run_h, walk.h) * row_words);
    return load_input_fragment<S>(stage + chunk.rows.word[m][0] - above, stage + chunk.rows.word[m][1] - above,
                                  reach.next);
}

/// Bytes of the weights of a step at an offset, or at all offsets along the height.
__device__ __forceinline__ int offset_bytes(const Reach& reach, int h) {
    int taps = 0;
    for (int offset = 0; offset < (reuse_rows ? AxisH::offsets : 1); ++offset) {
        const u32 mask_h = AxisH::mask(reuse_rows ? offset : h);
        taps += packed ? 1 : count_bits(reach.mask_d) * count_bits(mask_h) * count_bits(reach.mask_w);
    }
    return taps * 4 * tap_words;
}

/// Starts the products of `body_offsets` offsets. `between` is called when those of the body before are complete.
template <Step S, class Between>
__device__ __forceinline__ void multiply_body(Sums& sums, Rows& rows, const Chunk& chunk, Walk& walk,
                                              PlainOperand& weights, const Between& between) {
    constexpr bool is_long = split || body_offsets > 4;
#pragma unroll
    for (int i = 0; i < body_offsets; ++i) {
        const Reach reach = reach_of<S>(chunk, walk);
        const PlainOperand operand = plain_of_warp(weights);
#pragma unroll
        for (int row = 0; row < offset_fragments; ++row) {
            const int number = i * offset_fragments + row;
            InputFragment& input = rows.ring[number % ring_fragments];
            input = load_fragment<S>(chunk, walk, reach, row);
            wgmma_fence();
            start_row<S>(sums, row, input, reach, walk.h, operand);
            end_group();
            if (number + 1 == body_offsets * offset_fragments || (is_long && looks_up(number + 1, 3))) between();
        }
        weights = plain_after(weights, offset_bytes(reach, walk.h));
        walk.template advance<S>(chunk);
    }
    end_body();
}

/// All offsets of a chunk, body by body; of pairs, then the offset that stands alone.
template <class Between>
__device__ __forceinline__ void multiply_offsets(Sums& sums, Rows& rows, const Chunk& chunk, PlainOperand weights,
                                                 const Between& between) {
    Walk walk{};
    const int planes = chunk.count_d * chunk.count_w;
    const int rounds_h = reuse_rows ? 1 : chunk.count_h;
    const int offsets = (tap_pairs ? planes / 2 : planes) * steps * rounds_h;
#pragma unroll 1
    for (int offset = 0; offset < offsets; offset += body_offsets)
        multiply_body<tap_pairs ? Step::pair : Step::channels>(sums, rows, chunk, walk, weights, between);
    if constexpr (tap_pairs) {
        const int singles = planes % 2 * steps * rounds_h;
#pragma unroll 1
        for (int offset = 0; offset < singles; ++offset)
            multiply_body<Step::single>(sums, rows, chunk, walk, weights, between);
    }
}

template <class Between>
__device__ __forceinline__ void multiply_by_warpgroups(Sums& sums, const u32* stage, const u32* weights, Rows& rows,
                                                       const Place& place, int warp_n, const Between& between) {
    const auto count_of = [](bool fixed, int offsets, const Run& run) { return fixed ? offsets : run.count; };
    const Chunk chunk{stage,
                      rows,
                      place,
                      count_of(AxisD::joined, AxisD::offsets, place.run_d),
                      count_of(AxisW::joined, AxisW::offsets, place.run_w),
                      count_of(AxisH::joined, AxisH::offsets, place.run_h)};
    const PlainOperand operand = plain_operand(weights + warp_n * (product_phases * n_fragments * fragment_words));
    if constexpr (reuse_columns) {
        multiply_slabs(sums, rows, chunk, operand, between);
    } else {
        multiply_offsets(sums, rows, chunk, operand, between);
    }
}

__device__ __forceinline__ void finish_warpgroup_products(Sums& sums) {
    wgmma_wait<0>();
    wgmma_take(reinterpret_cast<float(&)[sizeof(Sums) / sizeof(float)]>(sums));
}

}  // namespace tconv::product
