// How the mma family packs the weights of a tap and step: [fragment][lane][register], split or rounded already.
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

/// Writes the packed form of two channels (of one, in TF32) into a fragment's registers.
template <class T>
__device__ __forceinline__ void put_packed(u32* fragment, int half, T first, T second) {
    if constexpr (native) {
        fragment[half] = first.bits | static_cast<u32>(second.bits) << 16;
    } else if constexpr (bf16_thrice) {
        split_bf16(to_float(first), to_float(second), fragment[half], fragment[2 + half]);
    } else if constexpr (split) {
        split_tf32(to_float(first), fragment[half], fragment[2 + half]);
    } else {
        fragment[half] = round_to_tf32(to_float(first));
    }
}

/// A tap that stands alone in a step of two: its high part meets both parts of an input, its low part the high one.
__device__ __forceinline__ void put_single(u32* fragment, int half, float value) {
    u32 high = 0;
    u32 low = 0;
    split_bf16(value, 0.0f, high, low);
    fragment[half] = high | high << 16;
    fragment[2 + half] = low;
}

/// `weight` gives an element of the part at the first or the second tap of a pair; `alone`: there is no second one.
template <class WeightOf>
__device__ __forceinline__ void pack_part(u32* tap, int part, const WeightOf& weight, bool alone) {
    const int half = part % 2;
    u32* fragment = tap + part / 2 * fragment_registers;
    const Element first = weight(0, 0);
    if constexpr (tap_pairs) {
        if (alone) {
            put_single(fragment, half, to_float(first));
        } else {
            put_packed(fragment, half, first, weight(0, 1));
        }
    } else {
        put_packed(fragment, half, first, pack_elements == 2 ? weight(1, 0) : Element{});
    }
}

}  // namespace tconv::product
