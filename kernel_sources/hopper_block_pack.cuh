// Channels-first input that is brought into the operand's order inside the block (block_pack). Its boxes arrive as they
// lie, a slice of channels at a time, in a ring of their own. The producer's warpgroup has three warps besides the one
// that loads weights: they turn a slice in registers, round or split it, and write the operand's rows where a packed
// box would have arrived.
#pragma once

#include "hopper_pack.cuh"
#include "hopper_pipeline.cuh"

namespace tconv::hopper {

constexpr int k_packing_threads = 32 * k_packing_warps;

constexpr int raw_lines = pitch_d * pitch_h;
static_assert(!block_pack || config::raw_height == pitch_h, "a slice has no other lines");
/// Channels that a thread turns at a time, the 16-byte pieces of an operand row that they fill, and how many times as
/// many a slice has.
constexpr int k_eight = 8;
constexpr int eight_pieces = split ? 1 : k_eight / slice_channels;
constexpr int slice_eights = config::raw_channels / k_eight;
/// Slices of a block of channels, of the last one those that its products read.
constexpr int box_slices = block_channels / config::raw_channels;
constexpr int last_slices = last_pieces * piece_channels / config::raw_channels;
static_assert(!block_pack || piece_channels % config::raw_channels == 0, "a product's channels are whole slices");
__device__ constexpr int slices_of(int block) {
    return block + 1 == channel_blocks ? last_slices : box_slices;
}
static_assert(!block_pack || raw_stage >= box_n * config::raw_channels * raw_channel_bytes, "a slice fits");

/// Positions that a thread turns together: neighbours that lie in a word.
constexpr int neighbours = 4 / problem::element_bytes;
/// Items of a line: fours of words, whole lines where that is as many, so that lanes read word after word.
constexpr int line_words = raw_width / neighbours;
constexpr int fours_of_words = ((neighbours == 1 ? pitch_w : pitch_w / 2 + 1) + 3) / 4 * 4;
constexpr int line_items = fours_of_words < line_words ? fours_of_words : line_words;
constexpr int slice_items = slice_eights * box_n * raw_lines * line_items;
constexpr int rounds = block_pack ? (slice_items + k_packing_threads - 1) / k_packing_threads : 1;

/// Where eight channels of the neighbours lie in a slice, and where in the operand, for the first slice: -1 outside the
/// box.
struct Item {
    int source;
    int targets[neighbours];
};

/// A thread's items. Of eight lanes that store at the same time four write even rows and four odd ones, so that no two
/// write to the same banks: of some items the second neighbour is written first.
struct Items {
    Item all[rounds];
    u32 second_first;
};

__device__ __forceinline__ void set_item(Items& items, int i, int thread, int lead) {
    Item& item = items.all[i];
    int line = i * k_packing_threads + thread;
    const int word = split_off(line, line_items) + (line_items == line_words ? 0 : lead / neighbours);
    const int number = split_off(line, box_n * raw_lines);
    const int eight = line;
    const bool present = eight < slice_eights;
    const int entry = number / raw_lines;
    const int raw_line = number + entry * (config::raw_channels - 1) * raw_lines;
    item.source = present ? eight * k_eight * raw_channel_bytes + (raw_line * line_words + word) * 4 : 0;
    const int place = word * neighbours - lead;
    const int row = number * pitch_w + place;
    const int first = neighbours == 1 ? 0 : (row ^ thread / 4) & 1;
    items.second_first |= static_cast<u32>(first) << i;
#pragma unroll
    for (int j = 0; j < neighbours; ++j) {
        const int past = j ^ first;
        const bool inside = present && place + past >= 0 && place + past < pitch_w;
        const int target = (row + past) * k_operand_row + eight * eight_pieces * 16;
        item.targets[j] = inside ? static_cast<int>(swizzled<k_operand_row>(target)) : -1;
    }
}

/// The lower or the upper halves of two words.
__device__ __forceinline__ u32 take_halves(u32 first, u32 second, bool upper) {
#ifdef TCONV_EMULATOR
    return upper ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
#else
    return __byte_perm(first, second, upper ? 0x7632 : 0x5410);
#endif
}

struct Eight {
    u32 words[k_eight];
};
__device__ __forceinline__ Eight load_eight(const unsigned char* source) {
    Eight eight;
#pragma unroll
    for (int i = 0; i < k_eight; ++i)
        eight.words[i] = *reinterpret_cast<const u32*>(source + i * raw_channel_bytes);
    return eight;
}

__device__ __forceinline__ void store_eight(unsigned char* stage, const Items& items, int i, int slice,
                                            const Eight& eight) {
#pragma unroll
    for (int j = 0; j < neighbours; ++j) {
        const int target = items.all[i].targets[j] ^ (slice * slice_eights * eight_pieces * 16);
        if (items.all[i].targets[j] < 0) continue;
        if constexpr (neighbours == 2) {
            const bool upper = (items.second_first >> i & 1) != static_cast<u32>(j);
            Slice row;
#pragma unroll
            for (int k = 0; k < 4; ++k)
                row.pieces[0].v[k] = __uint_as_float(take_halves(eight.words[2 * k], eight.words[2 * k + 1], upper));
            store_slice(stage, target, row);
        } else {
#pragma unroll
            for (int first = 0; first < k_eight; first += slice_channels) {
                store_slice(stage, target ^ (first / slice_channels * 16),
                            make_slice([&](int channel) { return __uint_as_float(eight.words[first + channel]); }));
            }
        }
    }
}

/// Slice `slice` of a block of channels. What is stored next is loaded before.
__device__ __forceinline__ void pack_slice(unsigned char* stage, const unsigned char* raw, const Items& items,
                                           int slice) {
    Eight next = load_eight(raw + items.all[0].source);
#pragma unroll
    for (int i = 0; i < rounds; ++i) {
        const Eight eight = next;
        if (i + 1 < rounds) next = load_eight(raw + items.all[i + 1].source);
        store_eight(stage, items, i, slice, eight);
    }
}

/// What is to be copied next: slice after slice of the boxes of tile after tile, in the order of load_tile.
struct SliceFeed {
    Turn<raw_stages> turn;
    int wave = 0;  // of the tile
    int w = 0, h = 0, d = 0, batch = 0, group = 0;
    int boxes = 0, first_block = 0, end_block = 0, planes = 0;
    int plane = 0, block = 0, box = 0, slice = 0;

    /// The first tile from `wave` on that has taps.
    __device__ __forceinline__ void enter(const Pipeline& pipeline, int batches) {
        Tile tile{};
        plane = planes = 0;
        for (; find_tile(tile, tile_in_wave(wave, pipeline.plan, pipeline.planned), batches); ++wave) {
            if (tile.taps() == 0) continue;
            w = box_corner<AxisW>(tile.q_w, tile.taps_w) & -raw_aligned;
            h = box_corner<AxisH>(tile.q_h, tile.taps_h);
            d = box_corner<AxisD>(tile.q_d, tile.taps_d);
            batch = tile.batch;
            group = tile.group;
            boxes = boxes_of(tile.taps_d);
            block = first_block = tile.first_block;
            end_block = tile.end_block;
            const Walked walked = walked_planes(tile);
            plane = walked.begin;
            planes = walked.end;
            if (plane < planes) return;
        }
    }
    __device__ __forceinline__ void load(const Pipeline& pipeline, const TensorMap& input, int batches) {
        if (plane == planes) return;
        const int past = walk ? plane : plane_boxes ? (plane_taps - 1 - box) * AxisD::offset_step : 0;
        const int channel = group * in_group + block * block_channels + slice * config::raw_channels;
        Barrier& full = pipeline.raw.full[turn.stage];
        barrier_wait(pipeline.raw.empty[turn.stage], turn.parity ^ 1);
        barrier_arrive_and_expect(full, box_n * config::raw_channels * raw_channel_bytes);
        tma_load_box(pipeline.raw_slices + turn.stage * raw_stage, input, full, {w, h, d + past, channel, batch});
        turn.advance();
        if (++slice < slices_of(block)) return;
        slice = 0;
        if (++box < boxes) return;
        box = 0;
        if (++block < end_block) return;
        block = first_block;
        if (++plane < planes) return;
        ++wave;
        enter(pipeline, batches);
    }
};

/// What the packing warps do. The first thread also keeps the ring of slices full.
__device__ __forceinline__ void pack_tiles(const Pipeline& pipeline, const TensorMap& input, int batch) {
    const int thread = static_cast<int>(threadIdx.x) - (threads - k_packing_threads);
    SliceFeed feed;
    if (thread == 0) {
        feed.enter(pipeline, batch);
#pragma unroll 1
        for (int i = 0; i < raw_stages; ++i)
            feed.load(pipeline, input, batch);
    }
    Turn<raw_stages> raw;
    Turn<input_stages> box;
    Tile tile{};
    for (int wave = 0; find_tile(tile, tile_in_wave(wave, pipeline.plan, pipeline.planned), batch); ++wave) {
        if (tile.taps() == 0) continue;
        const int lead = box_corner<AxisW>(tile.q_w, tile.taps_w) & (raw_aligned - 1);
        Items items{};
#pragma unroll
        for (int i = 0; i < rounds; ++i)
            set_item(items, i, thread, lead);
        const Walked walked = walked_planes(tile);
#pragma unroll 1
        for (int plane = walked.begin; plane < walked.end; ++plane) {
#pragma unroll 1
            for (int block = tile.first_block; block < tile.end_block; ++block) {
#pragma unroll 1
                for (int number = 0; number < boxes_of(tile.taps_d); ++number) {
                    barrier_wait_together(pipeline.input.empty[box.stage], box.parity ^ 1);
#pragma unroll 1
                    for (int slice = 0; slice < slices_of(block); ++slice) {
                        barrier_wait_together(pipeline.raw.full[raw.stage], raw.parity);
                        pack_slice(pipeline.inputs + box.stage * input_stage,
                                   pipeline.raw_slices + raw.stage * raw_stage, items, slice);
                        barrier_arrive_after_reads(pipeline.raw.empty[raw.stage]);
                        raw.advance();
                        if (thread == 0) feed.load(pipeline, input, batch);
                    }
                    // Products read what was written by plain stores.
                    fence_async_proxy();
                    __syncwarp();
                    if (thread % 32 == 0) barrier_arrive(pipeline.input.full[box.stage]);
                    box.advance();
                }
            }
        }
    }
}

}  // namespace tconv::hopper
