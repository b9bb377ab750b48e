// A matrix product in plain fp32 arithmetic from shared memory, where both operands lie [channel][row] and
// [channel][column]: a lane owns quads of neighbouring rows times quads of neighbouring columns, so that everything
// that it reads is a 16-byte vector. Blocks are persistent and load the next tile's first chunks before they store one.
#pragma once

#include "tconv.cuh"

namespace tconv::quads {

// A block: warps along rows and columns.
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
constexpr int threads = 32 * warps_m * warps_n;
constexpr int chunk = config::channel_chunk;
constexpr int stages = config::stages;

/// Where a lane's quads begin in the tile.
__device__ __forceinline__ int quad_row(int quad) {
    const int warp = static_cast<int>(threadIdx.x) / 32 % warps_m;
    const int lane = static_cast<int>(threadIdx.x) % 32 % lanes_m;
    return warp * warp_m + (quad * lanes_m + lane) * k_quad;
}
__device__ __forceinline__ int quad_column(int quad) {
    const int warp = static_cast<int>(threadIdx.x) / 32 / warps_m;
    const int lane = static_cast<int>(threadIdx.x) % 32 / lanes_m;
    return warp * warp_n + (quad * lanes_n + lane) * k_quad;
}

/// A stage: some channels of both operands.
struct Chunk {
    float input[chunk][tile_m];
    float weight[chunk][tile_n];
};

/// The part of an operand's chunk that a thread brings: pieces of `Vector` elements.
template <int Size, int Vector>
constexpr int pieces_of = (chunk * (Size / Vector) + threads - 1) / threads;

using Sums = float[quads_m][k_quad][quads_n][k_quad];

/// What a lane multiplies at one channel.
struct Operands {
    float input[quads_m][k_quad];
    float weight[quads_n][k_quad];
};

__device__ __forceinline__ void load_operands(Operands& operands, const Chunk& from, int channel) {
#pragma unroll
    for (int quad = 0; quad < quads_m; ++quad) {
        const auto loaded = load<k_quad>(&from.input[channel][quad_row(quad)]);
#pragma unroll
        for (int i = 0; i < k_quad; ++i)
            operands.input[quad][i] = loaded.v[i];
    }
#pragma unroll
    for (int quad = 0; quad < quads_n; ++quad) {
        const auto loaded = load<k_quad>(&from.weight[channel][quad_column(quad)]);
#pragma unroll
        for (int j = 0; j < k_quad; ++j)
            operands.weight[quad][j] = loaded.v[j];
    }
}

/// A value of the longer side meets all of the shorter one in a row, back and forth, so that it is read once and few of
/// the multiplications read two registers of one bank.
__device__ __forceinline__ void multiply(Sums& sums, const Operands& operands) {
    constexpr bool by_rows = quads_m >= quads_n;
    constexpr int lines = k_quad * (by_rows ? quads_m : quads_n);
    constexpr int length = k_quad * (by_rows ? quads_n : quads_m);
#pragma unroll
    for (int line = 0; line < lines; ++line) {
#pragma unroll
        for (int number = 0; number < length; ++number) {
            const int place = line % 2 == 0 ? number : length - 1 - number;
            const int row = by_rows ? line : place;
            const int column = by_rows ? place : line;
            float& sum = sums[row / k_quad][row % k_quad][column / k_quad][column % k_quad];
            sum = fmaf(operands.input[row / k_quad][row % k_quad], operands.weight[column / k_quad][column % k_quad],
                       sum);
        }
    }
}

/// No change, which the assembler cannot know: sums that are stored in vectors would else lie in neighbouring registers
/// all along, and more of the multiplications read two registers of one bank.
__device__ __forceinline__ void loosen(Sums& sums) {
    float* flat = &sums[0][0][0][0];
#pragma unroll
    for (int i = 0; i < quads_m * quads_n * k_quad * k_quad; ++i)
        flat[i] = __uint_as_float(__float_as_uint(flat[i]) ^ blockIdx.y);
}

__device__ __forceinline__ void multiply_chunk(Sums& sums, const Chunk& from) {
    constexpr int unrolled = chunk < 8 ? chunk : 8;
    Operands operands[2];
    load_operands(operands[0], from, 0);
#pragma unroll 1
    for (int first = 0; first < chunk; first += unrolled) {
#pragma unroll
        for (int i = 0; i < unrolled; ++i) {
            // The operands of the next channel are on their way while these are multiplied. Only behind the last one
            // that is unrolled there may be none.
            const int next = first + i + 1;
            load_operands(operands[(i + 1) % 2], from, i + 1 < unrolled || next < chunk ? next : 0);
            multiply(sums, operands[i % 2]);
        }
    }
}

/// Multiplies tile after tile. Of `work` it asks for
/// - find(number): the tile of that number becomes the one at hand; false past the last one,
/// - place(): works out what stays the same from chunk to chunk,
/// - first_chunk(), end_chunk(): of the tile at hand,
/// - start(chunk, number): starts to bring a chunk of the tile at hand, if it has that one,
/// - finish(chunk): stores what of it has come by way of registers,
/// - keep(), store(sums): `keep` notes the tile at hand, and `store` is told the sums of the tile noted.
template <class Work>
__device__ __forceinline__ void multiply_tiles(Chunk* ring, Work& work) {
    const auto begin = [&] {
        work.place();
#pragma unroll
        for (int stage = 0; stage < stages - 1; ++stage) {
            work.start(ring[stage], work.first_chunk() + stage);
            copy_async_commit();
            if (work.first_chunk() + stage < work.end_chunk()) work.finish(ring[stage]);
        }
    };
    int number = static_cast<int>(blockIdx.x);
    bool more = work.find(number);
    if (more) begin();
    while (more) {
        Sums sums = {};
        int stage = 0;
#pragma unroll 1
        for (int c = work.first_chunk(); c < work.end_chunk(); ++c) {
            copy_async_wait<stages - 2>();
            __syncthreads();
            const int ahead = c + stages - 1;
            Chunk& target = ring[stage == 0 ? stages - 1 : stage - 1];
            work.start(target, ahead);
            copy_async_commit();
            multiply_chunk(sums, ring[stage]);
            if (ahead < work.end_chunk()) work.finish(target);
            stage = stage + 1 == stages ? 0 : stage + 1;
        }
        work.keep();
        number += static_cast<int>(gridDim.x);
        more = work.find(number);
        __syncthreads();
        if (more) begin();
        loosen(sums);
        work.store(sums);
    }
}

}  // namespace tconv::quads
