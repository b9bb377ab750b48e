// Copies of the operands of the overlap_mma and the overlap_mma32 family, and the stages of shared memory that they
// fill.
#pragma once

#include "cluster.cuh"
#include "overlap_mma_shape.cuh"

namespace tconv::overlap_mma {

/// Registers of a thread: 64K are shared by the blocks of a multiprocessor, and what the copying warpgroup gives the
/// others take.
constexpr int k_all_registers = 65536;
constexpr int registers_at_start = k_all_registers / (threads * config::blocks) / 8 * 8;
constexpr int producer_registers = config::producer_registers;
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

/// The input of a tile in the channels of a chunk; TeamBytes lie between the windows of one team and the next.
template <int TeamBytes>
__device__ __forceinline__ void load_input(const Tile& tile, int channel, unsigned char* stage, const TensorMap& input,
                                           Barrier& full) {
    if constexpr (joint_copy && teams == 1) {
        tma_load_box(stage, input, full, {0, channel, tile.group, tile.window});
    } else {
#pragma unroll 1
        for (int window = 0; window < tile_windows; window += joint_copy ? team_windows : 1) {
            const int number = tile.window + window;
            const int team = window / team_windows;
            unsigned char* target = stage + team * TeamBytes + window % team_windows * window_runs * run_bytes;
            const int first = first_position(number % slices);
#pragma unroll
            for (int i = 0; i < window_runs; ++i)
                tma_load_box(target + i * run_bytes, input, full,
                             {first + i * run, channel, tile.group, number / slices});
        }
    }
}

/// Columns are copied a row of the operand at a time.
constexpr int box_columns = k_operand_row / static_cast<int>(sizeof(Element));
constexpr int weight_box = k_operand_row * chunk_channels;

/// The weights of so many boxes of columns, in the channels of a chunk. Blocks of a cluster load every other box for
/// all of them.
template <int Boxes>
__device__ __forceinline__ void load_weights(const Tile& tile, int channel, unsigned char* first,
                                             const TensorMap& weights, Barrier& full) {
    constexpr u16 all_blocks = (1 << cluster_blocks) - 1;
#pragma unroll
    for (int i = 0; i < Boxes; ++i) {
        const int corner[3] = {tile.channel * taps + i * box_columns, channel, tile.group};
        unsigned char* target = first + i * weight_box;
        if constexpr (cluster_blocks == 1) {
            tma_load_box(target, weights, full, corner);
        } else if ((i + blockIdx.x) % cluster_blocks == 0) {
            tma_load_box_to(all_blocks, target, weights, full, corner);
        }
    }
}

constexpr int stages = config::stages;
using Turn = tconv::Turn<stages>;

/// A warp is done with a stage, whose `empty` barrier all blocks of the cluster have.
__device__ __forceinline__ void release(Barrier& empty) {
    const u32 lane = threadIdx.x % 32;
    if constexpr (cluster_blocks > 1) {
        if (lane < cluster_blocks) barrier_arrive_in_cluster(empty, lane);
    } else {
        if (lane == 0) barrier_arrive(empty);
    }
}

/// The block's dynamic shared memory from where swizzles begin: they follow the address.
__device__ __forceinline__ unsigned char* aligned_shared() {
    unsigned char* shared = dynamic_shared<unsigned char>();
    const u64 past = reinterpret_cast<u64>(shared) % 1024;
    return shared + (past == 0 ? 0 : 1024 - past);
}

/// What a family's own make_pipeline and init_barriers say, ready for all threads that use this block's barriers.
template <class Pipeline>
__device__ __forceinline__ void set_up(const Pipeline& pipeline, const TensorMap& input, const TensorMap& weights) {
    if (threadIdx.x == 0) {
        tma_prefetch_map(input);
        tma_prefetch_map(weights);
        init_barriers(pipeline);
        barrier_init_fence();
    }
    clear_zero_rows(pipeline.gather);
    if constexpr (cluster_blocks > 1) {
        cluster_sync();
    } else {
        __syncthreads();
    }
}

}  // namespace tconv::overlap_mma
