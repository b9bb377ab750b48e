// Weights into the order in which blocks and lanes read them: [group][channel block][phase][chunk][offset d][offset w]
// [step][offset h][tapped phase][words of a tap], or [offset h][step] where `steps_last`; [offset d][offset h][step]
// [offset w] where taps share `windows`. What a tap's words are is included before (mma_pack.cuh, fma_pack.cuh):
// pack_parts, pack_elements, pack_column, pack_channel and pack_part.
//
// A block packs a piece of every tap's words: it reads the taps of its channels, which lie behind one another in the
// tensor, into shared memory, and writes runs of words.
#pragma once

#include "product_shape.cuh"

namespace tconv::product {

constexpr int pack_piece = config::pack_piece;  // parts of a tap's words
constexpr int pack_pieces = (pack_parts + pack_piece - 1) / pack_piece;
constexpr int pack_threads = 256;
/// Threads that pack the same part at different offsets.
constexpr int pack_rows = pack_threads / pack_piece;

/// The weights of a piece: taps of one element of a part behind one another, an odd pitch apart.
constexpr bool pack_staged = config::pack_staged != 0;
constexpr int pack_pitch = static_cast<int>(kernel_volume) | 1;

/// What a thread packs: one part of the words of some taps.
struct PackPlace {
    int part, step, chunk, channel_block, group;
    int phase_d, phase_h, phase_w;
};

/// Of the block's first part.
__device__ __forceinline__ PackPlace pack_place(i64 block) {
    PackPlace place{};
    place.part = split_off(block, pack_pieces) * pack_piece;
    place.step = split_off(block, steps);
    place.chunk = split_off(block, chunks);
    place.channel_block = split_off(block, channel_blocks);
    place.group = static_cast<int>(block);
    return place;
}

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

/// Where the taps of element `element` of a part begin in the tensor, or -1 outside the group's channels.
__device__ __forceinline__ i64 weight_row(const PackPlace& place, int part, int element) {
    const int in_channel =
        place.chunk * config::channel_chunk + place.step * (step_words * word_channels) + pack_channel(part, element);
    const int column = pack_column(part);
    const int out_channel = packed ? column % out_group : place.channel_block * block_channels + column;
    if (in_channel >= in_group || out_channel >= out_group) return -1;
    const i64 channel = static_cast<i64>(place.group) * in_group + in_channel;
    return weight_offset<i64>(channels_last, channel, out_channel, 0, out_group, kernel_volume);
}
/// Elements of the tensor from one tap to the next.
constexpr i64 tap_step = channels_last ? out_group : 1;

/// Reads the weights of the parts from `first` on into shared memory, neighbours in the tensor by neighbouring threads.
__device__ __forceinline__ void stage_weights(Element* staged, const Element* weight, const PackPlace& first) {
    constexpr int taps = pack_staged ? static_cast<int>(kernel_volume) : 1;
    constexpr int rows = pack_piece * pack_elements;
#pragma unroll 4
    for (int number = threadIdx.x; number < rows * taps; number += pack_threads) {
        const int row = channels_last ? number % rows : number / taps;
        const int tap = channels_last ? number / rows : number % taps;
        const int part = first.part + row / pack_elements;
        const i64 source = part < pack_parts ? weight_row(first, part, row % pack_elements) : -1;
        staged[row * pack_pitch + tap] = source < 0 ? Element{} : load_readonly(weight + source + tap * tap_step);
    }
}

/// The weights that a thread packs: taps of the elements of its part.
struct PackSource {
    const Element* rows[pack_elements];  // null outside the group's channels

    __device__ __forceinline__ Element at(int element, int k) const {
        if (rows[element] == nullptr || k < 0) return Element{};
        return pack_staged ? rows[element][k] : load_readonly(rows[element] + k * tap_step);
    }
};

__device__ __forceinline__ PackSource pack_source(const Element* staged, const Element* weight, const PackPlace& place,
                                                  int number) {
    PackSource source{};
    for (int element = 0; element < pack_elements; ++element) {
        const i64 row = pack_staged ? 0 : weight_row(place, place.part, element);
        source.rows[element] = pack_staged ? staged + (number * pack_elements + element) * pack_pitch
                               : row < 0   ? nullptr
                                           : weight + row;
    }
    return source;
}

/// Number of a kernel element, or -1 where it has no part along some axis.
__device__ __forceinline__ int kernel_element(int d, int h, int w) {
    if (d < 0 || h < 0 || w < 0) return -1;
    return (d * static_cast<int>(problem::kernel_h) + h) * static_cast<int>(problem::kernel_w) + w;
}

/// The tap of one slot, kernel element `k`; with pairs `next` is the other one's, or `alone`.
constexpr int alone = -2;
__device__ __forceinline__ void pack_tap(u32* tap, const PackSource& source, int part, int k, int next) {
    const auto weight_of = [&](int element, int second) { return source.at(element, second != 0 ? next : k); };
    pack_part(tap, part, weight_of, next == alone);
}

/// Offsets along depth and width of a slot; with pairs those of the second tap.
struct Offsets {
    int d, w;
};

/// Taps along the width of a block.
__device__ __forceinline__ int taps_w(const PackPlace& place) {
    return AxisW::joined ? AxisW::kernel : run_of<AxisW>(place.phase_w).count;
}

/// Slots along depth and width before an offset, in units of those along the height and the steps; its own number.
__device__ __forceinline__ Slots slots_before(const PackPlace& place, Offsets at) {
    const int run_w = run_of<AxisW>(place.phase_w).count;
    if constexpr (tap_pairs) return {(at.d * run_w + at.w) / 2 * pair_phases, pair_phases};
    if constexpr (packed) return {at.d * run_w + at.w, 1};
    const Slots slots_d = slots_of<AxisD>(at.d);
    const Slots slots_w = slots_of<AxisW>(at.w);
    return {slots_d.before * taps_w(place) + slots_d.count * slots_w.before, slots_d.count * slots_w.count};
}

/// The first slot at offsets along all axes: `at` along depth and width, `h` along the height, which has `total_h`
/// taps.
__device__ __forceinline__ i64 slot_of(const Slots& at, const Slots& h, int total_h, int step) {
    const i64 before = static_cast<i64>(at.before) * steps * total_h;
    if constexpr (steps_last) return before + at.count * (h.before * steps + step * h.count);
    return before + at.count * (step * total_h + h.before);
}

/// The same where taps along the width share windows.
__device__ __forceinline__ i64 window_slot(const PackPlace& place, Offsets at, const Slots& h, int total_h) {
    const Slots d = slots_of<AxisD>(at.d);
    const Slots w = slots_of<AxisW>(at.w);
    const int row = taps_w(place);  // of a step at one offset along depth and height
    return (static_cast<i64>(d.before) * total_h + d.count * h.before) * steps * row +
           d.count * h.count * (place.step * row + w.before);
}

/// Words before a slot. Phases that lie side by side in a product are mixed within the words of all of them: each warp
/// along the columns has its own fragments of each phase.
__device__ __forceinline__ i64 tap_begin(i64 slot) {
    if constexpr (product_phases == 1) return slot * tap_words;
    return slot / product_phases * (product_phases * tap_words) + slot % product_phases * (tap_words / warps_n);
}

/// All slots at one offset along the height and one along depth and width, or two.
__device__ __forceinline__ void pack_offset(u32* words, const PackSource& source, const PackPlace& place, Offsets at,
                                            Offsets next, int h) {
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
        const int phase = pack_column(place.part) / out_group;
        if (phase < joined_phases)
            elements(phase / (AxisH::tapped * AxisW::tapped), phase / AxisW::tapped % AxisH::tapped,
                     phase % AxisW::tapped, k, k_next);
        pack_tap(words + tap_begin(slot_of(slots, {h, 1}, total_h, place.step)), source, place.part, k,
                 next.d < 0 ? alone : k_next);
        return;
    }
    const Slots slots_h = slots_of<AxisH>(h);
    i64 slot = windows ? window_slot(place, at, slots_h, total_h) : slot_of(slots, slots_h, total_h, place.step);
    for (int index_d = 0; index_d < AxisD::tapped; ++index_d) {
        for (int index_h = 0; index_h < AxisH::tapped; ++index_h) {
            for (int index_w = 0; index_w < AxisW::tapped; ++index_w) {
                elements(index_d, index_h, index_w, k, k_next);
                if (k < 0) continue;
                pack_tap(words + tap_begin(slot), source, place.part, k, k_next);
                ++slot;
            }
        }
    }
}

// Offsets of all phases, one after the other: the most that a phase has of each.
constexpr int pack_offsets_dw = (AxisD::offsets * AxisW::offsets + (tap_pairs ? 1 : 0)) / (tap_pairs ? 2 : 1);
constexpr i64 pack_offsets = phase_blocks_d * phase_blocks_h * phase_blocks_w * pack_offsets_dw * AxisH::offsets;

/// The words of offset `number`, unless its phase has fewer.
__device__ __forceinline__ void pack_number(u32* words, const PackSource& source, PackPlace place, i64 number) {
    const int h = split_off(number, AxisH::offsets);
    const int first = split_off(number, pack_offsets_dw) * (tap_pairs ? 2 : 1);
    place.phase_w = split_off(number, phase_blocks_w);
    place.phase_h = split_off(number, phase_blocks_h);
    place.phase_d = static_cast<int>(number);
    const int count_w = run_of<AxisW>(place.phase_w).count;
    const int count = run_of<AxisD>(place.phase_d).count * count_w;
    if (first >= count || h >= run_of<AxisH>(place.phase_h).count) return;
    const int second = first + 1;
    const Offsets next = second < count ? Offsets{second / count_w, second % count_w} : Offsets{-1, -1};
    u32* block = words + packed_offset(place.group, place.channel_block, place.phase_d, place.phase_h, place.phase_w,
                                       place.chunk);
    pack_offset(block, source, place, {first / count_w, first % count_w}, next, h);
}

__device__ __forceinline__ void pack_weights(const Element* weight, u32* words) {
    PackPlace place = pack_place(blockIdx.x);
    auto* staged = dynamic_shared<Element>();
    if constexpr (pack_staged) {
        stage_weights(staged, weight, place);
        __syncthreads();
    }
    const int part = threadIdx.x % pack_piece;
    const int row = threadIdx.x / pack_piece;
    place.part += part;
    if (row >= pack_rows || place.part >= pack_parts) return;
    const PackSource source = pack_source(staged, weight, place, part);
    for (i64 number = row; number < pack_offsets; number += pack_rows)
        pack_number(words, source, place, number);
}

}  // namespace tconv::product
