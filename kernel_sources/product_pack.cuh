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
    const i64 row = static_cast<i64>(group) * in_group + in_channel;
    return inside ? load_readonly(weight + (row * out_group + out_channel) * kernel_volume + k) : Element{};
}

/// The tap of one slot.
__device__ __forceinline__ void pack_tap(u32* words, const Element* weight, const PackPlace& place, int out_channel,
                                         int kernel_d, int kernel_h, int kernel_w) {
    const bool tapped = kernel_d >= 0 && kernel_h >= 0 && kernel_w >= 0;
    const int k =
        tapped ? (kernel_d * static_cast<int>(problem::kernel_h) + kernel_h) * static_cast<int>(problem::kernel_w) +
                     kernel_w
               : -1;
    const int first_channel = place.chunk * config::channel_chunk + place.step * (step_words * word_channels);
    pack_part(words, place.part,
              [&](int channel) { return weight_at(weight, place.group, first_channel + channel, out_channel, k); });
}

/// First slot of an offset and step. `total_h` and `total_w` count the taps of the axes.
__device__ __forceinline__ int slot_of(const Slots& d, const Slots& h, const Slots& w, int total_h, int total_w,
                                       int step) {
    const int before = d.before * total_w + d.count * w.before;
    if constexpr (steps_last)
        return (before * total_h + d.count * w.count * h.before) * steps + step * (d.count * w.count * h.count);
    return before * steps * total_h + d.count * w.count * (step * total_h + h.before);
}

/// All slots at one offset of each axis.
__device__ __forceinline__ void pack_offset(u32* words, const Element* weight, const PackPlace& place, int d, int h,
                                            int w) {
    const int column = pack_column(place.part);
    const int total_w = AxisW::joined && !packed ? AxisW::kernel : run_of<AxisW>(place.phase_w).count;
    const int total_h = AxisH::joined && !packed ? AxisH::kernel : run_of<AxisH>(place.phase_h).count;
    if constexpr (packed) {
        const int slot = slot_of({d, 1}, {h, 1}, {w, 1}, total_h, total_w, place.step);
        const int phase = column / out_group;
        const bool used = phase < joined_phases;
        const int index_d = used ? phase / (AxisH::tapped * AxisW::tapped) : 0;
        const int index_h = used ? phase / AxisW::tapped % AxisH::tapped : 0;
        const int index_w = used ? phase % AxisW::tapped : 0;
        pack_tap(words + static_cast<i64>(slot) * tap_words, weight, place, used ? column % out_group : out_group,
                 kernel_index<AxisD>(place.phase_d, index_d, d), kernel_index<AxisH>(place.phase_h, index_h, h),
                 kernel_index<AxisW>(place.phase_w, index_w, w));
        return;
    }
    const Slots slots_d = slots_of<AxisD>(d);
    const Slots slots_h = slots_of<AxisH>(h);
    const Slots slots_w = slots_of<AxisW>(w);
    int slot = slot_of(slots_d, slots_h, slots_w, total_h, total_w, place.step);
    for (int index_d = 0; index_d < AxisD::tapped; ++index_d) {
        const int kernel_d = kernel_index<AxisD>(place.phase_d, index_d, d);
        for (int index_h = 0; index_h < AxisH::tapped; ++index_h) {
            const int kernel_h = kernel_index<AxisH>(place.phase_h, index_h, h);
            for (int index_w = 0; index_w < AxisW::tapped; ++index_w) {
                const int kernel_w = kernel_index<AxisW>(place.phase_w, index_w, w);
                if (kernel_d < 0 || kernel_h < 0 || kernel_w < 0) continue;
                pack_tap(words + static_cast<i64>(slot) * tap_words, weight, place,
                         place.channel_block * block_channels + column, kernel_d, kernel_h, kernel_w);
                ++slot;
            }
        }
    }
}

__device__ __forceinline__ void pack_phase(const Element* weight, u32* words, const PackPlace& place) {
    u32* block = words + packed_offset(place.group, place.channel_block, place.phase_d, place.phase_h, place.phase_w,
                                       place.chunk);
    const int count_d = run_of<AxisD>(place.phase_d).count;
    const int count_h = run_of<AxisH>(place.phase_h).count;
    const int count_w = run_of<AxisW>(place.phase_w).count;
    for (int d = 0; d < count_d; ++d) {
        for (int h = 0; h < count_h; ++h) {
            for (int w = 0; w < count_w; ++w)
                pack_offset(block, weight, place, d, h, w);
        }
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
