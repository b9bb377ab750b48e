// Channels-first input that is brought into the operand's order inside the block (block_pack). Its boxes arrive as they
// lie, a slice of channels at a time, in a ring of their own. The producer's warpgroup has three warps besides the one
// that loads weights: they turn a slice in registers, round or split it, and write the operand's rows where a packed
// box would have arrived.
#pragma once

#include "hopper_pack.cuh"
#include "hopper_pipeline.cuh"

namespace tconv::hopper {

constexpr int k_packing_threads = 32 * k_packing_warps;

// A slice: [batch entry][channel][depth][height][width]. Its lines begin at a multiple of 16 bytes, so the box does
// some elements (the lead) after them.
constexpr int raw_lines = pitch_d * pitch_h;
constexpr int raw_channel_bytes = raw_lines * config::raw_width * problem::element_bytes;
constexpr int raw_aligned = 16 / problem::element_bytes;
/// Channels that a thread has in registers at a time, and how many times as many a slice has.
constexpr int k_eight = 8;
constexpr int slice_eights = config::raw_channels / k_eight;
constexpr int box_slices = block_channels / config::raw_channels;
static_assert(!block_pack || (config::raw_width >= pitch_w + raw_aligned - 1 && config::raw_width % raw_aligned == 0),
              "a line holds that of the box wherever it begins");
static_assert(!block_pack || raw_stage >= box_n * config::raw_channels * raw_channel_bytes, "a slice fits");

/// Positions that a thread turns together: neighbours that lie in a word.
constexpr int neighbours = 4 / problem::element_bytes;
constexpr int line_items = neighbours == 1 ? pitch_w : pitch_w / 2 + 1;
constexpr int box_items = box_n * raw_lines * line_items;
constexpr int rounds = block_pack ? (box_items + k_packing_threads - 1) / k_packing_threads : 1;

/// Where the neighbours lie in a slice, and where their rows begin in the operand: -1 outside the box. Of every eight
/// lanes that store at the same time four write the first of theirs and four the second, so that no two write to the
/// same banks.
struct Item {
    int source;
    int targets[neighbours];
    u32 halves;  // of a pair of words: those that the first target takes
};
constexpr u32 k_low_halves = 0x5410;
constexpr u32 k_high_halves = 0x7632;

__device__ __forceinline__ Item item_at(int index, int lead) {
    Item item{};
    int line = index;
    const int place = split_off(line, line_items) * neighbours - lead % neighbours;
    const bool present = index < box_items && place < pitch_w;
    const int entry = box_n == 1 ? 0 : line / raw_lines;
    const int raw_line = line + entry * (config::raw_channels - 1) * raw_lines;
    if (present) item.source = (raw_line * config::raw_width + lead + place) * problem::element_bytes;
    const int row = line * pitch_w + place;
    const int swap = neighbours == 1 ? 0 : (row >> 3) & 1;
    item.halves = swap != 0 ? k_high_halves : k_low_halves;
#pragma unroll
    for (int i = 0; i < neighbours; ++i) {
        const int past = i ^ swap;
        const bool inside = present && place + past >= 0 && place + past < pitch_w;
        item.targets[i] = inside ? static_cast<int>(swizzled<k_operand_row>((row + past) * k_operand_row)) : -1;
    }
    return item;
}

/// Two halves of two words.
__device__ __forceinline__ u32 take_halves(u32 first, u32 second, u32 halves) {
#ifdef TCONV_EMULATOR
    return halves == k_low_halves ? (first & 0xffffu) | second << 16 : first >> 16 | (second & 0xffff0000u);
#else
    return __byte_perm(first, second, halves);
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

/// Writes eight channels of an item from 16-byte piece `piece` of its rows on.
__device__ __forceinline__ void store_eight(unsigned char* stage, const Item& item, int piece, const Eight& eight) {
#pragma unroll
    for (int i = 0; i < neighbours; ++i) {
        const int target = item.targets[i] ^ (piece * 16);
        if (item.targets[i] < 0) continue;
        if constexpr (neighbours == 2) {
            Slice slice;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                slice.pieces[0].v[j] =
                    __uint_as_float(take_halves(eight.words[2 * j], eight.words[2 * j + 1],
                                                i == 0 ? item.halves : item.halves ^ (k_low_halves ^ k_high_halves)));
            }
            store_slice(stage, target, slice);
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
__device__ __forceinline__ void pack_slice(unsigned char* stage, const unsigned char* raw, const Item (&items)[rounds],
                                           int slice) {
    constexpr int eight_pieces = split ? 1 : k_eight / slice_channels;
    constexpr int steps = rounds * slice_eights;
    const auto load_step = [&](int step) {
        return load_eight(raw + items[step / slice_eights].source + step % slice_eights * k_eight * raw_channel_bytes);
    };
    Eight next = load_step(0);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
        const Eight eight = next;
        if (step + 1 < steps) next = load_step(step + 1);
        store_eight(stage, items[step / slice_eights], (slice * slice_eights + step % slice_eights) * eight_pieces,
                    eight);
    }
}

/// First position along the width that any tap of a tile's box reads.
__device__ __forceinline__ int corner_w(const Tile& tile) {
    return tile.q_w - tile.taps_w.offset - (AxisW::max_taps - 1) * AxisW::offset_step;
}

/// What is to be copied next: slice after slice of the boxes of tile after tile.
struct SliceFeed {
    Turn<raw_stages> turn;
    Tile tile{};
    int number = static_cast<int>(blockIdx.x);
    int block = 0;
    int slice = 0;
    bool present = false;

    /// The first tile from `number` on that has taps.
    __device__ __forceinline__ void enter(int batch) {
        while ((present = find_tile(tile, number, batch)) && tile.taps() == 0)
            number += gridDim.x;
        block = tile.first_block;
        slice = 0;
    }
    __device__ __forceinline__ void load(const Pipeline& pipeline, const TensorMap& input, int batch) {
        if (!present) return;
        Barrier& full = pipeline.raw.full[turn.stage];
        barrier_wait(pipeline.raw.empty[turn.stage], turn.parity ^ 1);
        barrier_arrive_and_expect(full, box_n * config::raw_channels * raw_channel_bytes);
        const int w = corner_w(tile);
        const int h = tile.q_h - tile.taps_h.offset - (AxisH::max_taps - 1) * AxisH::offset_step;
        const int d = tile.q_d - tile.taps_d.offset - (AxisD::max_taps - 1) * AxisD::offset_step;
        const int channel = tile.group * in_group + block * block_channels + slice * config::raw_channels;
        tma_load_box(pipeline.raw_slices + turn.stage * raw_stage, input, full,
                     {w & -raw_aligned, h, d, channel, tile.batch});
        turn.advance();
        if (++slice < box_slices) return;
        slice = 0;
        if (++block < tile.end_block) return;
        number += gridDim.x;
        enter(batch);
    }
};

/// What the packing warps do. The first thread also keeps the ring of slices full.
__device__ __forceinline__ void pack_tiles(const Pipeline& pipeline, const TensorMap& input, int batch) {
    const int thread = static_cast<int>(threadIdx.x) - (threads - k_packing_threads);
    SliceFeed feed;
    if (thread == 0) {
        feed.enter(batch);
#pragma unroll 1
        for (int i = 0; i < raw_stages; ++i)
            feed.load(pipeline, input, batch);
    }
    Turn<raw_stages> raw;
    Turn<input_stages> box;
    Tile tile{};
    for (int number = blockIdx.x; find_tile(tile, number, batch); number += gridDim.x) {
        if (tile.taps() == 0) continue;
        Item items[rounds];
#pragma unroll
        for (int i = 0; i < rounds; ++i)
            items[i] = item_at(i * k_packing_threads + thread, corner_w(tile) & (raw_aligned - 1));
#pragma unroll 1
        for (int block = tile.first_block; block < tile.end_block; ++block) {
            barrier_wait_together(pipeline.input.empty[box.stage], box.parity ^ 1);
#pragma unroll 1
            for (int slice = 0; slice < box_slices; ++slice) {
                barrier_wait_together(pipeline.raw.full[raw.stage], raw.parity);
                pack_slice(pipeline.inputs + box.stage * input_stage, pipeline.raw_slices + raw.stage * raw_stage,
                           items, slice);
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

}  // namespace tconv::hopper
