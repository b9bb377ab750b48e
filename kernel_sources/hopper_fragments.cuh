// Operand A of the hopper family's products: descriptors of rows in shared memory; or registers (register_input), which
// the lanes that multiply fill from a box of channels-first input as it lies, at any shift.
//
// A lane has values of rows r = 16 * warp + lane / 4 and r + 8 of a product, and of those along K every fourth (TF32)
// or every fourth pair (PTX ISA, "Register Fragments for wgmma"). Its rows lie somewhere in the box, its channels a
// constant distance apart.
//
//     box     channel c      line h:    . . r r+1 r+2 ..         lanes 0, 4, 8 ..   channel c at r, r + 1, r + 2 ..
//             channel c + 1  line h:    . . r r+1 r+2 ..         lanes 1, 5, 9 ..   channel c + 1
#pragma once

#include "hopper_pipeline.cuh"
#include "wgmma_registers.cuh"

namespace tconv::hopper {

/// Where the rows of a thread's products lie: of operand rows the first one's number; in a raw box the thread's first
/// channel at its first row, of lines also at its second, in bytes.
constexpr int row_halves = register_input && in_lines ? 2 : 1;
struct RowPlaces {
    int at[rows][row_halves];
};

__device__ __forceinline__ void place_operand_rows(RowPlaces& places, int group) {
#pragma unroll
    for (int row = 0; row < rows; ++row)
        places.at[row][0] = first_row(group * rows + row);
}

/// A lane's first channel of a product's, and how many further on those of its other registers are.
constexpr int lane_channels = sizeof(Operand) == 4 ? 1 : 2;
constexpr int half_channels = piece_channels / 2;
/// From a row to the eighth after it: the next line of eight, or further along the line.
constexpr int eighth_row_bytes = (config::reuse == 1 ? raw_width : 8) * problem::element_bytes;

/// Row `row` of product `part` of the tile, counted from the box's first element.
__device__ __forceinline__ int raw_place(const Tile& tile, int part, int row) {
    if constexpr (flat) return part * (block_channels * raw_channel) + row;
    if constexpr (in_lines) {
        const int place = tile.past_line + first_row(part) + row;
        return place / pitch_w * raw_width + place % pitch_w;
    }
    const BoxPlace corner = corner_of(part);
    const int entry = corner.n * (block_channels * raw_channel);
    return entry + raw_offset(corner.d, corner.h + row / part_w, corner.w + row % part_w);
}

__device__ __forceinline__ void place_lane_rows(RowPlaces& places, const Tile& tile, int group) {
    const int lane = threadIdx.x % 32;
    const int lead = flat ? 0 : box_corner<AxisW>(tile.q_w, tile.taps_w) & (raw_aligned - 1);
    const int first = lane % 4 * lane_channels * raw_channel + lead;
#pragma unroll
    for (int row = 0; row < rows; ++row) {
#pragma unroll
        for (int half = 0; half < row_halves; ++half) {
            const int own_row = threadIdx.x % k_warpgroup / 32 * 16 + lane / 4 + half * 8;
            places.at[row][half] = (first + raw_place(tile, group * rows + row, own_row)) * problem::element_bytes;
        }
    }
}

/// Descriptors of a step's rows.
struct SharedRows {
    const unsigned char* input = nullptr;
    const RowPlaces* places = nullptr;

    template <int Pieces>
    __device__ __forceinline__ void load(const unsigned char* step_input, const RowPlaces& step_places) {
        input = step_input;
        places = &step_places;
    }
    /// Piece `k` along K, that is a product's, of `Pieces`; split operands: high * high, high * low, low * high.
    template <int Pieces>
    __device__ __forceinline__ u64 piece(int row, int k) const {
        const unsigned char* left = input + places->at[row][0] * k_operand_row;
        if constexpr (raw_input) return wgmma_operand_mn(left + k * k_mn_major_step, run_bytes);
        const int past = (k / Pieces == 2 ? k_operand_row / 2 : 0) + k % Pieces * k_operand_step;
        return wgmma_operand(left, past, input_eights);
    }
};

/// Registers of a step's rows: they are read until its products are complete.
constexpr int fragment_parts = split ? 2 : 1;  // high and low ones
struct Fragments {
    u32 words[rows][fragment_parts][block_pieces][4];

    template <int Pieces>
    __device__ __forceinline__ void load(const unsigned char* input, const RowPlaces& places) {
#pragma unroll
        for (int i = 0; i < rows * Pieces * 4; ++i) {
            const int row = i / (Pieces * 4);
            const int piece = i / 4 % Pieces;
            const int half = i % 2;
            const int channel = piece * piece_channels + i % 4 / 2 * half_channels;
            const unsigned char* source = input + places.at[row][half % row_halves] + channel * raw_channel_bytes +
                                          half / row_halves * eighth_row_bytes;
            load_word(source, row, piece, i % 4);
        }
    }
    __device__ __forceinline__ void load_word(const unsigned char* source, int row, int piece, int i) {
        if constexpr (sizeof(Operand) == 4) {
            words[row][0][piece][i] = *reinterpret_cast<const u32*>(source);
        } else if constexpr (split) {
            split_bf16(*reinterpret_cast<const float*>(source),
                       *reinterpret_cast<const float*>(source + raw_channel_bytes), words[row][0][piece][i],
                       words[row][fragment_parts - 1][piece][i]);
        } else {
            const u32 second = *reinterpret_cast<const u16*>(source + raw_channel_bytes);
            words[row][0][piece][i] = *reinterpret_cast<const u16*>(source) | second << 16;
        }
    }
    template <int Pieces>
    __device__ __forceinline__ const u32 (&piece(int row, int k) const)[4] {
        return words[row][k / Pieces == 2 ? 1 : 0][k % Pieces];
    }
};

/// Operand A of a step's products.
using Left = Either<register_input, Fragments, SharedRows>::type;

/// Operand A of a step of block `block` of channels.
__device__ __forceinline__ void load_step(Left& left, const unsigned char* input, const RowPlaces& places, int block) {
    if (last_pieces < block_pieces && block + 1 == channel_blocks) {
        left.template load<last_pieces>(input, places);
    } else {
        left.template load<block_pieces>(input, places);
    }
}

/// Boxes that arrive step by step, with the weights, are waited for before they are read.
constexpr bool reads_steps = register_input && !reuse;

}  // namespace tconv::hopper
