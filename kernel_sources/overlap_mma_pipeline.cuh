// The stages of shared memory between the thread that starts copies and the warpgroups that multiply.
#pragma once

#include "cluster.cuh"
#include "overlap_mma_shape.cuh"

namespace tconv::overlap_mma {

/// Registers of a thread: 64K are shared by the blocks of a multiprocessor, and what the copying warpgroup gives the
/// others take.
constexpr int k_all_registers = 65536;
constexpr int registers_at_start = k_all_registers / (threads * config::blocks) / 8 * 8;
constexpr int producer_registers = consumers >= 3 ? 32 : 40;
constexpr int registers_left =
    ((registers_at_start > 255 ? 248 : registers_at_start) * (consumers + 1) - producer_registers) / consumers / 8 * 8;
constexpr int consumer_registers = registers_left > 240 ? 240 : registers_left;
constexpr bool share_registers = consumer_registers > registers_at_start;

/// One channel's positions of a run.
constexpr int run_row = run * static_cast<int>(sizeof(Element));
constexpr int run_bytes = run_row * chunk_channels;
/// A team's images of one run each come in one copy.
constexpr bool joint_copy = window_runs == 1 && whole_images;
constexpr int copied_bytes = tile_windows * window_runs * run_bytes;
constexpr int input_bytes = tile_rows * chunk_channels * static_cast<int>(sizeof(Element));

/// Columns are copied 64 at a time.
constexpr int weight_boxes = (product_n + k_operand_values - 1) / k_operand_values;
constexpr int weight_box = k_operand_row * chunk_channels;
constexpr int stages = config::stages;
constexpr int stage_bytes = input_bytes + weight_boxes * weight_box;

constexpr int share_pitch = shares::pitch(team_rows);
constexpr int zero_row = team_rows;
constexpr int bias_floats = (teams * tile_channels + 1) / 2 * 2;
constexpr int share_floats = pass_channels * taps * share_pitch;

struct Pipeline {
    unsigned char* operands;
    float* shares;   // of each team
    float* biases;   // of each team's tile
    Barrier* full;   // number i: the operands of stage i have arrived
    Barrier* empty;  // every warp that multiplies is done with them, in all blocks of the cluster
    Barrier* met;    // all warps of the team are there
};

using Turn = tconv::Turn<stages>;

__device__ __forceinline__ Pipeline make_pipeline() {
    unsigned char* shared = dynamic_shared<unsigned char>();
    // The swizzle follows the address.
    const u64 past = reinterpret_cast<u64>(shared) % 1024;
    unsigned char* operands = shared + (past == 0 ? 0 : 1024 - past);
    float* shares = reinterpret_cast<float*>(operands + stages * stage_bytes);
    float* biases = shares + teams * share_floats;
    Barrier* barriers = reinterpret_cast<Barrier*>(biases + bias_floats);
    return {operands, shares, biases, barriers, barriers + stages, barriers + 2 * stages};
}
// What the space leaves for barriers.
static_assert((2 * stages + 1) * sizeof(Barrier) <= 256, "barriers have room");

__device__ __forceinline__ void init_barriers(const Pipeline& pipeline) {
    constexpr int warps = consumers * k_warpgroup / 32;
    for (int stage = 0; stage < stages; ++stage) {
        barrier_init(pipeline.full[stage], 1);
        barrier_init(pipeline.empty[stage], cluster_blocks * warps);
    }
    barrier_init(*pipeline.met, warps);
}

/// By all threads: shares outside the image, which nothing writes later.
__device__ __forceinline__ void clear_zero_rows(const Pipeline& pipeline) {
    for (int column = threadIdx.x; column < teams * pass_channels * taps; column += threads)
        pipeline.shares[column * share_pitch + zero_row] = 0;
}

__device__ __forceinline__ void load_input(const Tile& tile, int channel, unsigned char* stage, const TensorMap& input,
                                           Barrier& full) {
    if constexpr (joint_copy && teams == 1) {
        tma_load_box(stage, input, full, {0, channel, tile.group, tile.window});
    } else {
#pragma unroll 1
        for (int window = 0; window < tile_windows; window += joint_copy ? team_windows : 1) {
            const int number = tile.window + window;
            const int team = window / team_windows;
            unsigned char* target =
                stage + (team * (team_rows / run) + window % team_windows * window_runs) * run_bytes;
            const int first = first_position(number % slices);
#pragma unroll
            for (int i = 0; i < window_runs; ++i)
                tma_load_box(target + i * run_bytes, input, full,
                             {first + i * run, channel, tile.group, number / slices});
        }
    }
}

/// Blocks of a cluster load every other box of columns for all of them.
__device__ __forceinline__ void load_weights(const Tile& tile, int channel, unsigned char* stage,
                                             const TensorMap& weights, Barrier& full) {
    constexpr u16 all_blocks = (1 << cluster_blocks) - 1;
#pragma unroll
    for (int i = 0; i < weight_boxes; ++i) {
        const int corner[3] = {tile.channel * taps + i * k_operand_values, channel, tile.group};
        unsigned char* target = stage + input_bytes + i * weight_box;
        if constexpr (cluster_blocks == 1) {
            tma_load_box(target, weights, full, corner);
        } else if ((i + blockIdx.x) % cluster_blocks == 0) {
            tma_load_box_to(all_blocks, target, weights, full, corner);
        }
    }
}

/// A warp is done with a stage.
__device__ __forceinline__ void release(const Pipeline& pipeline, int stage) {
    const u32 lane = threadIdx.x % 32;
    if constexpr (cluster_blocks > 1) {
        if (lane < cluster_blocks) barrier_arrive_in_cluster(pipeline.empty[stage], lane);
    } else {
        if (lane == 0) barrier_arrive(pipeline.empty[stage]);
    }
}

/// Waits for all threads that use this block's barriers.
__device__ __forceinline__ void sync_all() {
    if constexpr (cluster_blocks > 1) {
        cluster_sync();
    } else {
        __syncthreads();
    }
}

__device__ __forceinline__ void load_tiles(const Pipeline& pipeline, const TensorMap& input, const TensorMap& weights,
                                           int windows) {
    Turn turn;
    Tile tile{};
    for (int number = first_number(); find_tile(tile, number, windows); number += number_step()) {
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; ++chunk) {
            Barrier& full = pipeline.full[turn.stage];
            unsigned char* stage = pipeline.operands + turn.stage * stage_bytes;
            barrier_wait(pipeline.empty[turn.stage], turn.parity ^ 1);
            barrier_arrive_and_expect(full, copied_bytes + weight_boxes * weight_box);
            load_input(tile, chunk * chunk_channels, stage, input, full);
            load_weights(tile, chunk * chunk_channels, stage, weights, full);
            turn.advance();
        }
    }
}

}  // namespace tconv::overlap_mma
