// How the mma family packs the weights of a tap and step: [fragment][lane][register], split or rounded already.
#pragma once

#include "product_shape.cuh"

namespace tconv::product {

/// A thread packs a lane's registers `part % 2` (of 0 and 1) of a fragment.
constexpr int pack_parts = block_fragments * 64;

__device__ __forceinline__ int pack_column(int part) {
    return part / 64 * 8 + part / 2 % 32 / 4;
}

/// The two channels of register `half` of a lane within a step, as the input's words give them.
__device__ __forceinline__ int step_channel(int lane, int half, int second) {
    const int t = lane % 4;
    if constexpr (native) return 2 * t + 8 * half + second;
    if constexpr (bf16_thrice) return t + 8 * half + 4 * second;
    return t + 4 * half;
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

/// `weight` gives the element of a channel of the step.
template <class WeightOf>
__device__ __forceinline__ void pack_part(u32* tap, int part, const WeightOf& weight) {
    const int half = part % 2;
    const int lane = part / 2 % 32;
    const Element first = weight(step_channel(lane, half, 0));
    const Element second = native || bf16_thrice ? weight(step_channel(lane, half, 1)) : Element{};
    put_packed(tap + part / 2 * fragment_registers, half, first, second);
}

}  // namespace tconv::product
