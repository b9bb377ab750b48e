// The inputs of a chunk of channels as fragments in registers: which words of a stage a lane reads for an offset and a
// step along K, and how it rounds or splits them.
#pragma once

#include "mma_shape.cuh"
#include "product_shape.cuh"

namespace tconv::product {

/// The type of values as products take them: unsplit ones, and the parts of split ones.
using Operand = Either<native, Element, tf32>::type;
using Part = Either<bf16_thrice, bf16, tf32>::type;

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

/// A value, or two of them in a step of two offsets or of 16 channels, as products take them.
template <Step S>
__device__ __forceinline__ void prepare(float value, float other, u32& high, u32& low) {
    if constexpr (bf16_thrice && S != Step::single) {
        split_bf16(value, other, high, low);
    } else if constexpr (S == Step::single) {
        high = split_bf16(value);
    } else if constexpr (tf32_thrice) {
        split_tf32(value, high, low);
    } else if constexpr (tf32_once && !boxes) {
        high = round_to_tf32(value);
    } else {
        high = __float_as_uint(value);  // boxes come rounded to TF32
    }
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
        for (int i = 0; i < 2; ++i)
            prepare<S>(words.v[i], others.v[i], fragment.high[2 * half + i], fragment.low[2 * half + i]);
    }
    return fragment;
}

/// Words from the stage's start to the lane's two positions of each of its fragments, at offset 0 of every axis.
struct Rows {
    int word[m_fragments][2];
    InputFragment ring[ring_fragments];  // of warpgroups
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

/// Whether a phase has a tap at an offset whose masks these are.
__device__ __forceinline__ bool has_tap(int phase, u32 mask_d, u32 mask_h, u32 mask_w) {
    return (AxisD::uniform || (mask_d >> phase / (AxisH::tapped * AxisW::tapped) & 1) != 0) &&
           (AxisH::uniform || (mask_h >> phase / AxisW::tapped % AxisH::tapped & 1) != 0) &&
           (AxisW::uniform || (mask_w >> phase % AxisW::tapped & 1) != 0);
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

__device__ __forceinline__ int words_back(const Place& place, int d, int w) {
    return (offset_of<AxisD>(place.run_d, d) * (rows_h * row_pitch) + offset_of<AxisW>(place.run_w, w)) *
           position_pitch;
}

}  // namespace tconv::product
