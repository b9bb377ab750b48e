// Channels-first input that is brought into the operand's order inside the block (block_pack). Its boxes arrive as they
// lie, a slice of channels at a time, in a ring of their own. The producer's warpgroup has three warps besides the one
// that loads weights: they turn a slice, round or split it, and write the operand's rows where a packed box would have
// arrived.
#pragma once

#include "held.cuh"
#include "hopper_pack_matrices.cuh"
#include "hopper_pack_words.cuh"

namespace tconv::hopper {

static_assert(!block_pack || config::raw_height == pitch_h, "a slice has no other lines");
/// Slices of a block of channels, of the last one those that its products read.
constexpr int box_slices = block_channels / config::raw_channels;
constexpr int last_slices = last_pieces * piece_channels / config::raw_channels;
static_assert(!block_pack || piece_channels % config::raw_channels == 0, "a product's channels are whole slices");
__device__ constexpr int slices_of(int block) {
    return block + 1 == channel_blocks ? last_slices : box_slices;
}
static_assert(!block_pack || raw_stage >= box_n * config::raw_channels * raw_channel_bytes, "a slice fits");

using Packer = Either<matrix_pack, MatrixPacker, WordPacker>::type;

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
    __device__ __forceinline__ bool more() const { return plane < planes; }
    __device__ __forceinline__ void load(const Pipeline& pipeline, const TensorMap& input, int batches) {
        if (!more()) return;
        const int past = walk ? plane : plane_boxes ? (plane_taps - 1 - box) * AxisD::offset_step : 0;
        const int channel = group * in_group + block * block_channels + slice * config::raw_channels;
        Barrier& full = pipeline.raw.full[turn.stage];
        barrier_wait(pipeline.raw.empty[turn.stage], turn.parity ^ 1);
        barrier_arrive_and_expect(full, box_n * config::raw_channels * raw_channel_bytes);
        unsigned char* stage = pipeline.raw_slices + turn.stage * raw_stage;
        if constexpr (matrix_pack) {
            tma_load_box(stage, input, full, {w, channel, h, d + past, batch});
        } else {
            tma_load_box(stage, input, full, {w, h, d + past, channel, batch});
        }
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

/// Slices that the ring has room for.
__device__ __forceinline__ void fill_raw(SliceFeed& feed, const Pipeline& pipeline, const TensorMap& input, int batch) {
    feed.enter(pipeline, batch);
#pragma unroll 1
    for (int i = 0; i < raw_stages; ++i)
        feed.load(pipeline, input, batch);
}

/// Who loads weights that stay has nothing to do then, and keeps the ring of slices full; else the first that packs
/// does.
constexpr bool feeds_beside = block_pack && !steps_wait;
__device__ __forceinline__ void load_resident_and_slices(const Pipeline& pipeline, const TensorMap& input,
                                                         const Weights& weights, int batch) {
    SliceFeed feed;
    fill_raw(feed, pipeline, input, batch);
    wait_for_launch_before();
    Tile tile{};
    if (find_tile(tile, blockIdx.x, batch)) load_resident(tile, pipeline, weights);
#pragma unroll 1
    while (feed.more())
        feed.load(pipeline, input, batch);
}

/// What the packing warps do.
__device__ __forceinline__ void pack_tiles(const Pipeline& pipeline, const TensorMap& input, int batch) {
    const int thread = static_cast<int>(threadIdx.x) - (threads - k_packing_threads);
    const bool feeds = !feeds_beside && thread == 0;
    SliceFeed feed;
    if (feeds) fill_raw(feed, pipeline, input, batch);
    Turn<raw_stages> raw;
    Turn<input_stages> box;
    Packer packer;
    int placed = -1;
    Tile tile{};
    for (int wave = 0; find_tile(tile, tile_in_wave(wave, pipeline.plan, pipeline.planned), batch); ++wave) {
        if (tile.taps() == 0) continue;
        const int lead = box_corner<AxisW>(tile.q_w, tile.taps_w) & (raw_aligned - 1);
        if (lead != placed) packer.place(held(thread), lead);
        placed = lead;
        const Walked walked = walked_planes(tile);
#pragma unroll 1
        for (int plane = walked.begin; plane < walked.end; ++plane) {
#pragma unroll 1
            for (int block = tile.first_block; block < tile.end_block; ++block) {
#pragma unroll 1
                for (int number = 0; number < boxes_of(tile.taps_d); ++number) {
                    barrier_wait_together(pipeline.input.empty[box.stage], box.parity ^ 1);
                    const int slices = slices_of(block);
#pragma unroll 1
                    for (int slice = 0; slice < slices; ++slice) {
                        barrier_wait_together(pipeline.raw.full[raw.stage], raw.parity);
                        packer.pack(pipeline.inputs + box.stage * input_stage,
                                    pipeline.raw_slices + raw.stage * raw_stage, slice);
                        // Products read what was written by plain stores, and copies write where plain loads read.
                        fence_async_proxy();
                        __syncwarp();
                        if (thread % 32 == 0) {
                            barrier_arrive(pipeline.raw.empty[raw.stage]);
                            if (slice + 1 == slices) barrier_arrive(pipeline.input.full[box.stage]);
                        }
                        raw.advance();
                        if (feeds) feed.load(pipeline, input, batch);
                    }
                    box.advance();
                }
            }
        }
    }
}

}  // namespace tconv::hopper
