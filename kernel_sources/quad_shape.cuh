// How a block of quad_product.cuh shares its tile's product among warps and lanes, and what lies where.
#pragma once

#include "tconv.cuh"

namespace tconv::quads {

// A block: groups of warps along the channels, in each warps along rows and columns.
constexpr int k_quad = 4;
constexpr int lanes_m = config::position_lanes;
constexpr int lanes_n = 32 / lanes_m;
constexpr int quads_m = config::position_quads;
constexpr int quads_n = config::column_quads;
constexpr int warps_m = config::warps_m;
constexpr int warps_n = config::warps_n;
constexpr int warp_m = lanes_m * quads_m * k_quad;
constexpr int warp_n = lanes_n * quads_n * k_quad;
constexpr int tile_m = warps_m * warp_m;
constexpr int tile_n = warps_n * warp_n;
constexpr int channel_groups = config::channel_groups;
constexpr int group_threads = 32 * warps_m * warps_n;
constexpr int threads = channel_groups * group_threads;
constexpr int chunk = config::channel_chunk;
/// A group's channels of a chunk: neighbours.
constexpr int group_chunk = chunk / channel_groups;
constexpr int stages = config::stages;

__device__ __forceinline__ int channel_group() {
    return channel_groups == 1 ? 0 : static_cast<int>(threadIdx.x / group_threads);
}
__device__ __forceinline__ int thread_of_group() {
    return static_cast<int>(channel_groups == 1 ? threadIdx.x : threadIdx.x % group_threads);
}

/// A warp's read of 16-byte vectors takes two cycles of shared memory where all lanes read what their neighbour does,
/// or all what the one two further does, and else four. In pairs, lanes 2n and 2n + 1 have the same rows, and lanes 4n
/// + i and 4n + 2 + i the same columns: that pays where a lane has few products of what it reads.
constexpr bool lanes_in_pairs = quads_m * quads_n <= 2;
/// A lane's place along the rows and the columns of its warp.
__device__ __forceinline__ int lane_row() {
    return static_cast<int>(lanes_in_pairs ? threadIdx.x % 32 / 2 % lanes_m : threadIdx.x % 32 % lanes_m);
}
__device__ __forceinline__ int lane_column() {
    return static_cast<int>(lanes_in_pairs ? threadIdx.x % 32 / (2 * lanes_m) * 2 + threadIdx.x % 2
                                           : threadIdx.x % 32 / lanes_m);
}

/// Where a lane's quads begin in the tile.
__device__ __forceinline__ int quad_row(int quad) {
    const int warp = static_cast<int>(threadIdx.x % group_threads / 32 % warps_m);
    return warp * warp_m + (quad * lanes_m + lane_row()) * k_quad;
}
__device__ __forceinline__ int quad_column(int quad) {
    const int warp = static_cast<int>(threadIdx.x % group_threads / 32 / warps_m);
    return warp * warp_n + (quad * lanes_n + lane_column()) * k_quad;
}

/// A stage: some channels of both operands.
struct Chunk {
    float input[chunk][tile_m];
    float weight[chunk][tile_n];
};

/// The part of an operand's chunk that a thread brings: pieces of `Vector` neighbours of a channel.
template <int Size, int Vector>
struct Pieces {
    static constexpr int line = Size / Vector;
    static constexpr int count = (chunk * line + threads - 1) / threads;
    /// A thread's pieces lie at the same place of channels that are equally far apart, where whole lines are taken.
    static constexpr bool regular = threads % line == 0;
    static constexpr int places = regular ? 1 : count;

    __device__ __forceinline__ static int channel(int i) {
        const u32 first = static_cast<u32>(i * threads);
        return static_cast<int>(regular ? first / line + threadIdx.x / line : (first + threadIdx.x) / line);
    }
    __device__ __forceinline__ static int place(int i) {
        const u32 first = static_cast<u32>(i * threads);
        return static_cast<int>((regular ? threadIdx.x : first + threadIdx.x) % line * Vector);
    }
    /// False where the last pieces are not for all threads, and not for this one.
    __device__ __forceinline__ static bool is_mine(int i) {
        return (i + 1) * threads <= chunk * line || channel(i) < chunk;
    }
};

template <int M, int N>
using QuadSums = float[M][k_quad][N][k_quad];
using Sums = QuadSums<quads_m, quads_n>;

}  // namespace tconv::quads
