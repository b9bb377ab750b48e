// Weights into the order in which blocks and lanes read them: [group][channel block][phase][chunk][offset d][offset w]
// [step][offset h][tapped phase][words of a tap], or [offset h][step] where `steps_last`. What a tap's words are is
// included before (mma_pack.cuh, fma_pack.cuh): pack_parts, pack_column and pack_part.
#pragma once

#include "product_shape.cuh"

namespace tconv::product {

/// What one thread packs: a part of each tap's words, for all taps, which lie behind one another in the tensor.
struct PackPlace {
    int part, step, chunk, channel_block, group;
    int phase_d, phase_h, phase_w;
};

__device__ __forceinline__ PackPlace pack_place(i64 number) {
    PackPlace place{};
    place.part = split_off(number, pack_parts);
    place.step = split_off(number, steps);
    place.chunk = split_off(number, chunks);
    place.channel_block = split_off(number, channel_blocks);
    place.group = static_cast<int>(number);
    return place;
}

constexpr i64 pack_threads = static_cast<i64>(problem::groups) * channel_blocks * chunks * steps * pack_parts;

/// How many taps of the block come before an offset of an axis, and how many it has.
struct Slots {
    int before;
    int count;
};
template <class A>
__device__ __forceinline__ Slots slots_of(int number) {
    if constexpr (!A::joined) return {number, 1};
    Slots slots{0, count_bits(A::mask(number))};
    for (int earlier = 0; earlier < number; ++earlier)
        slots.before += count_bits(A::mask(earlier));
    return slots;
}

/// Kernel index of tapped phase `index` at offset `number`, or -1.
template <class A>
__device__ __forceinline__ int kernel_index(int phase, int index, int number) {
    if constexpr (A::joined) return A::tap(A::tapped_phase(index), number);
    const Taps taps = A::Phases::taps(phase);
    return number < taps.count ? taps.first + number * static_cast<int>(A::Phases::kernel_step) : -1;
}

__device__ __forceinline__ Element weight_at(const Element* weight, int group, int in_channel, int out_channel, int k) {
    const bool inside = in_channel < in_group && out_channel < out_group && k >= 0;
    const i64 channel = static_cast<i64>(group) * in_group + in_channel;
    const i64 offset = weight_offset<i64>(channels_last, channel, out_channel, k, out_group, kernel_volume);
    return inside ? load_readonly(weight + offset) : Element{};
}

/// Number of a kernel element, or -1 where it has no part along some axis.
__device__ __forceinline__ int kernel_element(int d, int h, int w) {
    if (d < 0 || h < 0 || w < 0) return -1;
    return (d * static_cast<int>(problem::kernel_h) + h) * static_cast<int>(problem::kernel_w) + w;
}

/// The tap of one slot, kernel element `k`; with pairs `next` is the other one's, or `alone`.
constexpr int alone = -2;
__device__ __forceinline__ void pack_tap(u32* tap, const Element* weight, const PackPlace& place, int out_channel,
                                         int k, int next) {
    const int first_channel = place.chunk * config::channel_chunk + place.step * (step_words * word_channels);
    const auto weight_of = [&](int channel, int second) {
        return weight_at(weight, place.group, first_channel + channel, out_channel, second != 0 ? next : k);
    };
    pack_part(tap, place.part, weight_of, next == alone);
}

/// Offsets along depth and width of a slot; with pairs those of the second tap.
struct Offsets {
    int d, w;
};

/// Slots along depth and width before an offset, in units of those along the height and the steps; its own number.
__device__ __forceinline__ Slots slots_before(const PackPlace& place, Offsets at) {
    const int run_w = run_of<AxisW>(place.phase_w).count;
    if constexpr (tap_pairs) return {(at.d * run_w + at.w) / 2 * pair_phases, pair_phases};
    if constexpr (packed) return {at.d * run_w + at.w, 1};
    const Slots slots_d = slots_of<AxisD>(at.d);
    const Slots slots_w = slots_of<AxisW>(at.w);
    const int total_w = AxisW::joined ? AxisW::kernel : run_w;
    return {slots_d.before * total_w + slots_d.count * slots_w.before, slots_d.count * slots_w.count};
}

/// The first slot at offsets along all axes: `at` along depth and width, `h` along the height, which has `total_h`
/// taps.
__device__ __forceinline__ i64 slot_of(const Slots& at, const Slots& h, int total_h, int step) {
    const i64 before = static_cast<i64>(at.before) * steps * total_h;
    if constexpr (steps_last) return before + at.count * (h.before * steps + step * h.count);
    return before + at.count * (step * total_h + h.before);
}

/// Words before a slot. Phases that lie side by side in a product are mixed within the words of all of them: each warp
/// along the columns has its own fragments of each phase.
__device__ __forceinline__ i64 tap_begin(i64 slot) {
    if constexpr (product_phases == 1) return slot * tap_words;
    return slot / product_phases * (product_phases * tap_words) + slot % product_phases * (tap_words / warps_n);
}

/// All slots at one offset along the height and one along depth and width, or two.
__device__ __forceinline__ void pack_offset(u32* words, const Element* weight, const PackPlace& place, Offsets at,
                                            Offsets next, int h) {
    const int column = pack_column(place.part);
    const int total_h = AxisH::joined ? axis_taps<AxisH> : run_of<AxisH>(place.phase_h).count;
    const Slots slots = slots_before(place, at);
    const auto elements = [&](int index_d, int index_h, int index_w, int& first, int& second) {
        const int kernel_h = kernel_index<AxisH>(place.phase_h, index_h, h);
        first = kernel_element(kernel_index<AxisD>(place.phase_d, index_d, at.d), kernel_h,
                               kernel_index<AxisW>(place.phase_w, index_w, at.w));
        second = next.d < 0 ? alone
                            : kernel_element(kernel_index<AxisD>(place.phase_d, index_d, next.d), kernel_h,
                                             kernel_index<AxisW>(place.phase_w, index_w, next.w));
    };
    int k = -1;
    int k_next = -1;
    if constexpr (packed) {
        const int phase = column / out_group;
        if (phase < joined_phases)
            elements(phase / (AxisH::tapped * AxisW::tapped), phase / AxisW::tapped % AxisH::tapped,
                     phase % AxisW::tapped, k, k_next);
        pack_tap(words + tap_begin(slot_of(slots, {h, 1}, total_h, place.step)), weight, place, column % out_group, k,
                 next.d < 0 ? alone : k_next);
        return;
    }
    i64 slot = slot_of(slots, slots_of<AxisH>(h), total_h, place.step);
    for (int index_d = 0; index_d < AxisD::tapped; ++index_d) {
        for (int index_h = 0; index_h < AxisH::tapped; ++index_h) {
            for (int index_w = 0; index_w < AxisW::tapped; ++index_w) {
                elements(index_d, index_h, index_w, k, k_next);
                if (k < 0) continue;
                pack_tap(words + tap_begin(slot), weight, place, place.channel_block * block_channels + column, k,
                         k_next);
                ++slot;
            }
        }
    }
}

__device__ __forceinline__ void pack_phase(const Element* weight, u32* words, const PackPlace& place) {
    u32* block = words + packed_offset(place.group, place.channel_block, place.phase_d, place.phase_h, place.phase_w,
                                       place.chunk);
    const int count_h = run_of<AxisH>(place.phase_h).count;
    const int count_w = run_of<AxisW>(place.phase_w).count;
    const int count = run_of<AxisD>(place.phase_d).count * count_w;
    for (int number = 0; number < count; number += tap_pairs ? 2 : 1) {
        const Offsets at = {number / count_w, number % count_w};
        const int second = number + 1;
        const Offsets next = second < count ? Offsets{second / count_w, second % count_w} : Offsets{-1, -1};
        for (int h = 0; h < count_h; ++h)
            pack_offset(block, weight, place, at, next, h);
    }
}

__device__ __forceinline__ void pack_weights(const Element* weight, u32* words, i64 number) {
    PackPlace place = pack_place(number);
    for (place.phase_d = 0; place.phase_d < phase_blocks_d; ++place.phase_d) {
        for (place.phase_h = 0; place.phase_h < phase_blocks_h; ++place.phase_h) {
            for (place.phase_w = 0; place.phase_w < phase_blocks_w; ++place.phase_w)
                pack_phase(weight, words, place);
        }
    }
}

}  // namespace tconv::product
