// The input of the overlap_mma32 family on its way from [window][channel][position], as it arrives, to an operand: a
// swizzled row of 128 bytes for each position.
//
//   TF32         piece 2s has channels 0, 2, 4, 6 of the eight of step s, piece 2s + 1 channels 1, 3, 5, 7: of a step,
//                thread t multiplies channels 2t and 2t + 1, which are then numbers t and t + 4 of its k
//   split bf16   pieces 0 to 3 have the high, pieces 4 to 7 the low parts of eight channels each
#pragma once

#include "overlap_mma32_pipeline.cuh"

namespace tconv::overlap_mma {

/// What a warp packs at a time: so many channels of as many positions as it has lanes, all of them read before any is
/// written.
constexpr int k_work_positions = 32;
constexpr int k_work_channels = 16;
constexpr int channel_works = chunk_channels / k_work_channels;
constexpr int works = (tile_positions + k_work_positions - 1) / k_work_positions * channel_works;

/// Piece `piece` of a row, of which a work has two of every eight channels.
__device__ __forceinline__ void put_piece(unsigned char* row, int piece, int turned, const float (&values)[4]) {
    store<4>(reinterpret_cast<float*>(row + ((piece ^ turned) * 16)),
             Floats<4>{{values[0], values[1], values[2], values[3]}});
}

/// With half as many positions of a window as banks, or half more, lanes of two windows would read from the same banks:
/// those of every second window take the channels of each pair the other way round, which are of different pieces.
constexpr bool turn_pairs = !split && window_rows % 32 == 16;

/// A lane's part of a work: 16 channels of a position.
__device__ __forceinline__ void pack_position(const float* source, unsigned char* row, int turned, int half, int turn) {
    float values[k_work_channels];
    const float* first = source + turn * window_rows;
    const float* second = source - turn * window_rows;
#pragma unroll
    for (int i = 0; i < k_work_channels; ++i)
        values[i] = (i % 2 == 0 ? first : second)[i * window_rows];
#pragma unroll
    for (int i = 0; i < k_work_channels; i += 8) {
        const int eight = half * 2 + i / 8;
        if constexpr (split) {
            float high[4], low[4];
#pragma unroll
            for (int j = i; j < i + 8; j += 2) {
                u32 upper, lower;
                split_bf16(values[j], values[j + 1], upper, lower);
                high[(j - i) / 2] = __uint_as_float(upper);
                low[(j - i) / 2] = __uint_as_float(lower);
            }
            put_piece(row, eight, turned, high);
            put_piece(row, eight + 4, turned, low);
        } else {
            put_piece(row, 2 * eight + turn, turned, {values[i], values[i + 2], values[i + 4], values[i + 6]});
            put_piece(row, 2 * eight + 1 - turn, turned, {values[i + 1], values[i + 3], values[i + 5], values[i + 7]});
        }
    }
}

/// One chunk, by the packing warps in turn.
__device__ __forceinline__ void pack_chunk(const float* raw, unsigned char* packed, int packer) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < works; i += packers) {
        const int work = i + packer;
        if (i + packers > works && work >= works) continue;
        const int half = work % channel_works;
        const int position = work / channel_works * k_work_positions + lane;
        if (tile_positions % k_work_positions != 0 && position >= tile_positions) continue;
        const int window = position / window_rows;
        const float* source =
            raw + (window * (chunk_channels - 1) * window_rows + position) + half * (k_work_channels * window_rows);
        pack_position(source, packed + position * k_operand_row, lane % 8, half, turn_pairs ? window % 2 : 0);
    }
}

/// By the three warps, of which this is number `packer`.
__device__ __forceinline__ void pack_tiles(const Pipeline& pipeline, int packer, int windows) {
    Turn turn;
    tconv::Turn<raw_stages> raw_turn;
    Tile tile{};
    for (int number = first_number(); find_tile(tile, number, windows); number += number_step()) {
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; ++chunk) {
            unsigned char* packed = pipeline.operands + turn.stage * stage_bytes + weight_bytes;
            barrier_wait_together(pipeline.stages.empty[turn.stage], turn.parity ^ 1);
            barrier_wait_together(pipeline.arrived.full[raw_turn.stage], raw_turn.parity);
            pack_chunk(reinterpret_cast<const float*>(pipeline.raw + raw_turn.stage * copied_bytes), packed, packer);
            // Of the input that has been read, and of the operand that has been written.
            fence_async_proxy();
            __syncwarp();
            if (threadIdx.x % 32 == 0) {
                barrier_arrive(pipeline.arrived.empty[raw_turn.stage]);
                barrier_arrive(pipeline.stages.full[turn.stage]);
            }
            turn.advance();
            raw_turn.advance();
        }
    }
}

}  // namespace tconv::overlap_mma
