// A matrix product in plain fp32 arithmetic from shared memory, where both operands lie [channel][row] and
// [channel][column]: a lane owns quads of neighbouring rows times quads of neighbouring columns, so that everything
// that it reads is a 16-byte vector. Blocks are persistent and load the next tile's first chunks before they store one.
// Where tiles are few, groups of a block's warps share the channels of each chunk: every group has sums of the whole
// tile, and they meet in shared memory.
#pragma once

#include "held.cuh"
#include "quad_exchange.cuh"

namespace tconv::quads {

/// What a lane multiplies at one channel.
struct Operands {
    float input[quads_m][k_quad];
    float weight[quads_n][k_quad];
};

/// Where a lane reads operands, from some channel on.
struct Reader {
    const Chunk* ring;
    // In bytes from there: numbers of 32 bits, where pointers would be of 64.
    int input;
    int weight;

    __device__ __forceinline__ Reader(const Chunk* chunks, int channel)
        : ring(chunks),
          input(held(distance(&chunks->input[channel][quad_row(0)]))),
          weight(held(distance(&chunks->weight[channel][quad_column(0)]))) {}
    __device__ __forceinline__ void skip(int chunks, int channels) {
        input += chunks * static_cast<int>(sizeof(Chunk)) + channels * static_cast<int>(sizeof(ring->input[0]));
        weight += chunks * static_cast<int>(sizeof(Chunk)) + channels * static_cast<int>(sizeof(ring->weight[0]));
    }
    /// Those of the channel that lies `channel` later.
    __device__ __forceinline__ void load(Operands& operands, int channel) const {
#pragma unroll
        for (int quad = 0; quad < quads_m; ++quad) {
            const auto loaded = tconv::load<k_quad>(at(input) + channel * tile_m + quad * lanes_m * k_quad);
#pragma unroll
            for (int i = 0; i < k_quad; ++i)
                operands.input[quad][i] = loaded.v[i];
        }
#pragma unroll
        for (int quad = 0; quad < quads_n; ++quad) {
            const auto loaded = tconv::load<k_quad>(at(weight) + channel * tile_n + quad * lanes_n * k_quad);
#pragma unroll
            for (int j = 0; j < k_quad; ++j)
                operands.weight[quad][j] = loaded.v[j];
        }
    }

private:
    __device__ __forceinline__ int distance(const float* place) const {
        return static_cast<int>(reinterpret_cast<const unsigned char*>(place) -
                                reinterpret_cast<const unsigned char*>(ring));
    }
    __device__ __forceinline__ const float* at(int bytes) const {
        return reinterpret_cast<const float*>(reinterpret_cast<const unsigned char*>(ring) + bytes);
    }
};

/// A value of one side meets all of the other in a row, back and forth, so that it is read once and few of the
/// multiplications read two registers of one bank. Which side suits the registers better differs from shape to shape.
__device__ __forceinline__ void multiply(Sums& sums, const Operands& operands) {
    constexpr bool by_rows = (quads_m >= quads_n) == (config::sum_order == 0);
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

/// Channels that are multiplied without a branch, of a group's in a chunk.
constexpr int round = group_chunk <= 10 ? group_chunk : group_chunk % 8 == 0 ? 8 : group_chunk / 2;
static_assert(group_chunk == round || (group_chunk % round == 0 && round % 2 == 0), "rounds are alike");
/// The same where the operands of one channel are in registers.
constexpr int plain_round = group_chunk % 4 == 0 ? 4 : group_chunk;

/// The block's shared memory; `exchange` is there where there are several groups.
template <int ShareFloats>
struct Shared {
    union {
        Chunk ring[stages];
        float shares[ShareFloats];
    };
    Exchange exchange;
};
// A union of one would cost registers.
template <>
struct Shared<0> {
    Chunk ring[stages];
    Exchange exchange;
};

/// The last of the first chunks has slot 0 of the registers, from which each later one is finished.
constexpr int slot_of(int stage) {
    return (stage + 1) % stages;
}

/// Starts the first chunks of the tile at hand; what comes by way of registers takes all of their slots.
template <class Work>
__device__ __forceinline__ void start_tile(Chunk* ring, Work& work) {
    work.place();
    // One body where it can be: a block that has a tile or two waits for each instruction that it has not run before.
#pragma unroll Work::passes ? stages : 1
    for (int stage = 0; stage < stages; ++stage) {
        work.start(ring[stage], work.first_chunk() + stage, slot_of(stage));
        copy_async_commit();
    }
}

/// All of a block's first chunks are on their way before one is waited for: there are no sums in the registers yet.
template <class Work>
__device__ __forceinline__ void start_first_tile(Chunk* ring, Work& work) {
    start_tile(ring, work);
    work.meanwhile();
    if constexpr (Work::passes) {
#pragma unroll
        for (int stage = 0; stage < stages - 1; ++stage) {
            if (work.first_chunk() + stage < work.end_chunk()) work.finish(ring[stage], slot_of(stage));
        }
    }
}

template <class Work>
__device__ __forceinline__ void start_next_tile(Chunk* ring, Work& work) {
    if constexpr (!Work::passes) {
        start_tile(ring, work);
    } else {
        work.place();
#pragma unroll
        for (int stage = 0; stage < stages; ++stage) {
            work.start(ring[stage], work.first_chunk() + stage, 0);
            copy_async_commit();
            if (stage + 1 < stages && work.first_chunk() + stage < work.end_chunk()) work.finish(ring[stage], 0);
        }
    }
}

/// Between chunk `number` in `stage` and the next one, which is there afterwards.
template <class Work>
__device__ __forceinline__ void wait_for_next(Chunk* ring, Work& work, int number, int stage) {
    // What was loaded to registers a chunk ago, for the stage that had been read then.
    if constexpr (Work::passes) {
        if (number - 1 + stages < work.end_chunk()) work.finish(ring[(stage + stages - 1) % stages], 0);
    }
    copy_async_wait<stages - 2>();
    __syncthreads();
}

/// Multiplies the chunks of the tile at hand, of which `stages` have been started. The operands of the next channel
/// are on their way while those of one are multiplied. So it is from chunk to chunk: the barrier between two, the first
/// operands of the next one and the copies to the stage that has been read go before the last products of a chunk.
template <class Work>
__device__ __forceinline__ void multiply_tile(Sums& sums, Chunk* ring, Work& work) {
    Operands operands[2];
    copy_async_wait<stages - 1>();
    __syncthreads();
    Reader reader(ring, channel_group() * group_chunk);
    reader.load(operands[0], 0);
    int number = work.first_chunk();
    int stage = 0;
    int left = group_chunk;
#pragma unroll 1
    while (number < work.end_chunk()) {
#pragma unroll
        for (int i = 0; i < round - 1; ++i) {
            reader.load(operands[(i + 1) % 2], i + 1);
            multiply(sums, operands[i % 2]);
        }
        reader.skip(0, round);
        left -= round;
        const int read = stage;
        const bool last = group_chunk == round || left == 0;
        if (last) {
            if (number + 1 < work.end_chunk()) wait_for_next(ring, work, number, read);
            ++number;
            stage = stage + 1 == stages ? 0 : stage + 1;
            reader.skip(stage - read, -group_chunk);
            left = group_chunk;
        }
        reader.load(operands[round % 2], 0);
        if (last) {
            work.start(ring[held(read)], held(number) - 1 + stages, 0);
            copy_async_commit();
        }
        multiply(sums, operands[(round - 1) % 2]);
        if constexpr (round % 2 != 0) operands[0] = operands[1];
    }
}

/// The same with the operands of one channel at a time: fewer registers, so that other warps hide the waiting.
template <class Work>
__device__ __forceinline__ void multiply_tile_plainly(Sums& sums, Chunk* ring, Work& work) {
    Operands operands;
    copy_async_wait<stages - 1>();
    __syncthreads();
    Reader reader(ring, channel_group() * group_chunk);
    int stage = 0;
#pragma unroll 1
    for (int number = work.first_chunk(); number < work.end_chunk(); ++number) {
#pragma unroll 1
        for (int left = group_chunk; left > 0; left -= plain_round) {
#pragma unroll
            for (int i = 0; i < plain_round; ++i) {
                reader.load(operands, i);
                multiply(sums, operands);
            }
            reader.skip(0, plain_round);
        }
        if (number + 1 < work.end_chunk()) wait_for_next(ring, work, number, stage);
        work.start(ring[held(stage)], held(number) + stages, 0);
        copy_async_commit();
        stage = stage + 1 == stages ? 0 : stage + 1;
        reader.skip(stage == 0 ? 1 - stages : 1, -group_chunk);
    }
}

/// Multiplies tile after tile. Of `work` it asks for
/// - find(number): the tile of that number becomes the one at hand; false past the last one,
/// - place(): works out what stays the same from chunk to chunk,
/// - first_chunk(), end_chunk(): of the tile at hand,
/// - start(chunk, number, slot): starts to bring a chunk of the tile at hand, if it has that one,
/// - finish(chunk, slot): stores what of it has come by way of registers, which have `stages` slots,
/// - meanwhile(): what else there is to do once the block's first chunks are on their way,
/// - keep(), store(sums, place): `keep` notes the tile at hand, and `store` is told sums of the tile noted,
/// - gather(): where it has `share_floats`, sums are stored in shared memory in place of the chunks, and this is called
///   when all are there.
template <class Work>
__device__ __forceinline__ void multiply_tiles(Work& work) {
    constexpr bool gathers = Work::share_floats > 0;
    auto& shared = *dynamic_shared<Shared<Work::share_floats>>();
    Chunk* ring = shared.ring;
    int number = static_cast<int>(blockIdx.x);
    bool more = work.find(number);
    if (more) start_first_tile(ring, work);
    while (more) {
        Sums sums = {};
        if constexpr (config::operand_buffers == 1) {
            multiply_tile_plainly(sums, ring, work);
        } else {
            multiply_tile(sums, ring, work);
        }
        loosen<k_quad * k_quad * lane_quads>(&sums[0][0][0][0]);
        work.keep();
        number += static_cast<int>(gridDim.x);
        more = work.find(number);
        give_sums(shared.exchange, sums);
        __syncthreads();
        if (more && !gathers) start_next_tile(ring, work);
        store_sums(work, sums, shared.exchange);
        if constexpr (gathers) {
            __syncthreads();
            work.gather();
            __syncthreads();
            if (more) start_next_tile(ring, work);
        }
    }
}

}  // namespace tconv::quads
