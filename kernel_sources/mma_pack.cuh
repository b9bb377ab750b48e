// How the mma family packs the weights of a tap and step, split or rounded already: [fragment][lane][register], or as
// wgmma takes them, [fragment][part][register][lane].
#pragma once

#include "mma_shape.cuh"
#include "product_shape.cuh"

namespace tconv::product {

/// A part is a lane's registers `part % 2` (of 0 and 1) of a fragment: of one or two channels.
constexpr int pack_parts = block_fragments * 64;
constexpr int pack_elements = native || (bf16_thrice && !tap_pairs) ? 2 : 1;

__device__ __forceinline__ int pack_column(int part) {
    return part / 64 * 8 + part / 2 % 32 / 4;
}

/// The two channels of register `half` of a lane within a step, as the input's words give them.
__device__ __forceinline__ int step_channel(int lane, int half, int part) {
    const auto word = [&](int second) { return neighbours ? lane % 4 * 2 + second : lane % 4 + 4 * second; };
    if constexpr (native) return 2 * word(half) + part;
    if constexpr (bf16_thrice && !tap_pairs) return 8 * half + word(part);
    return word(half);
}

/// Channel of the step that element `element` of a part has.
__device__ __forceinline__ int pack_channel(int part, int element) {
    return step_channel(part / 2 % 32, part % 2, element);
}

/// A register of a fragment, and the one of the low part where values are split.
struct PackedWord {
    u32* high;
    u32* low;
};
__device__ __forceinline__ PackedWord packed_word(u32* tap, int part) {
    const int half = part % 2;
    const int lane = part / 2 % 32;
    const int number = part / 64;
    if constexpr (warpgroups) {
        const int before = number / n_fragments * product_phases * n_fragments + number % n_fragments;
        u32* word = tap + before * fragment_words + 32 * half + lane;
        return {word, word + 64};
    }
    u32* word = tap + (number * 32 + lane) * fragment_registers + half;
    return {word, word + 2};
}

/// Writes the packed form of two channels (of one, in TF32).
template <class T>
__device__ __forceinline__ void put_packed(const PackedWord& word, T first, T second) {
    if constexpr (native) {
        *word.high = first.bits | static_cast<u32>(second.bits) << 16;
    } else if constexpr (bf16_thrice) {
        split_bf16(to_float(first), to_float(second), *word.high, *word.low);
    } else if constexpr (split) {
        split_tf32(to_float(first), *word.high, *word.low);
    } else {
        *word.high = round_to_tf32(to_float(first));
    }
}

/// A tap that stands alone in a step of two: its high part meets both parts of an input, its low part the high one.
__device__ __forceinline__ void put_single(const PackedWord& word, float value) {
    u32 high = 0;
    u32 low = 0;
    split_bf16(value, 0.0f, high, low);
    *word.high = high | high << 16;
    *word.low = low;
}

/// `weight` gives an element of the part at the first or the second tap of a pair; `alone`: there is no second one.
template <class WeightOf>
__device__ __forceinline__ void pack_part(u32* tap, int part, const WeightOf& weight, bool alone) {
    const PackedWord word = packed_word(tap, part);
    const Element first = weight(0, 0);
    if constexpr (tap_pairs) {
        if (alone) {
            put_single(word, to_float(first));
        } else {
            put_packed(word, first, weight(0, 1));
        }
    } else {
        put_packed(word, first, pack_elements == 2 ? weight(1, 0) : Element{});
    }
}

}  // namespace tconv::product
