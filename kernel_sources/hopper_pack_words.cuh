// How a slice of channels-first fp32 input is brought into the operand's order inside the block (block_pack): a thread
// loads a word of each of eight channels and rounds or splits them to 16-byte pieces of an operand row.
#pragma once

#include "hopper_pack.cuh"
#include "hopper_pipeline.cuh"

namespace tconv::hopper {

/// What a thread packs of each slice: positions, each of eight channels.
class WordPacker {
public:
    /// Where they lie, in a box whose first position is `lead` behind its lines' beginning.
    __device__ __forceinline__ void place(int thread, int lead) {
#pragma unroll
        for (int i = 0; i < rounds; ++i)
            items_[i] = item_at(i * k_packing_threads + thread, lead);
    }

    /// Slice `slice` of a block of channels. What is stored next is loaded before.
    __device__ __forceinline__ void pack(unsigned char* stage, const unsigned char* raw, int slice) const {
        Eight next = load_eight(raw + items_[0].source);
#pragma unroll
        for (int i = 0; i < rounds; ++i) {
            const Eight eight = next;
            if (i + 1 < rounds) next = load_eight(raw + items_[i + 1].source);
            if (items_[i].target >= 0) store_eight(stage, items_[i].target ^ (slice * slice_bytes), eight);
        }
    }

private:
    /// Channels that a thread packs at a time, the bytes of an operand row that they fill, and those of a slice.
    static constexpr int k_eight = 8;
    static constexpr int eight_bytes = split ? 16 : k_eight / slice_channels * 16;
    static constexpr int slice_eights = config::raw_channels / k_eight;
    static constexpr int slice_bytes = slice_eights * eight_bytes;
    /// Words of a line that are packed: whole lines where that is as many, so that lanes read word after word.
    static constexpr int fours_of_words = (pitch_w + 3) / 4 * 4;
    static constexpr int line_items = fours_of_words < raw_width ? fours_of_words : raw_width;
    static constexpr int slice_items = slice_eights * box_n * raw_lines * line_items;
    static constexpr int rounds =
        block_pack && !matrix_pack ? (slice_items + k_packing_threads - 1) / k_packing_threads : 1;

    /// Where eight channels of a position lie in a slice, and where in the operand, for the first slice: -1 outside the
    /// box.
    struct Item {
        int source, target;
    };
    Item items_[rounds];

    struct Eight {
        u32 words[k_eight];
    };

    static __device__ __forceinline__ Item item_at(int number, int lead) {
        const int word = split_off(number, line_items) + (line_items == raw_width ? 0 : lead);
        const int line = split_off(number, box_n * raw_lines);
        const int eight = number;
        const bool present = eight < slice_eights;
        const int raw_line = line + line / raw_lines * (config::raw_channels - 1) * raw_lines;
        const int place = word - lead;
        const int target = (line * pitch_w + place) * k_operand_row + eight * eight_bytes;
        return {present ? eight * k_eight * raw_channel_bytes + (raw_line * raw_width + word) * 4 : 0,
                present && place >= 0 && place < pitch_w ? static_cast<int>(swizzled<k_operand_row>(target)) : -1};
    }

    static __device__ __forceinline__ Eight load_eight(const unsigned char* source) {
        Eight eight;
#pragma unroll
        for (int i = 0; i < k_eight; ++i)
            eight.words[i] = *reinterpret_cast<const u32*>(source + i * raw_channel_bytes);
        return eight;
    }

    static __device__ __forceinline__ void store_eight(unsigned char* stage, int target, const Eight& eight) {
        if constexpr (problem::element_bytes == 4) {
#pragma unroll
            for (int first = 0; first < k_eight; first += slice_channels) {
                store_slice(stage, target ^ (first / slice_channels * 16),
                            make_slice([&](int channel) { return __uint_as_float(eight.words[first + channel]); }));
            }
        }
    }
};

}  // namespace tconv::hopper
