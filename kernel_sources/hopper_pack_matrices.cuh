// How a slice of channels-first 16-bit input is brought into the operand's order inside the block (block_pack): by
// matrices of eight channels x eight positions, which a warp turns as it reads them.
//
//   slice [line][channel][position]             operand [position][channel], 128 bytes each, swizzled
//   16 bytes: eight positions of a channel ──>  16 bytes: eight channels of a position
//
// Sixteen channels of two eights of positions are four matrices, a move of a warp. Neighbouring channels of a line lie
// an odd number of 16 bytes apart, so that the rows of a matrix are in unlike banks; so are those of the operand.
#pragma once

#include "held.cuh"
#include "hopper_pipeline.cuh"
#include "warp_matrices.cuh"

namespace tconv::hopper {

/// What a warp packs of each slice: eights of positions, all of a slice's channels.
class MatrixPacker {
public:
    /// Where they lie, in a box whose first position is `lead` behind its lines' beginning.
    __device__ __forceinline__ void place(int thread, int lead) {
        if (lead + pitch_w > (most_eights - 1) * k_eight) {
            place_eights<most_eights>(thread, lead);
        } else {
            place_eights<(most_eights > 1 ? most_eights - 1 : 1)>(thread, lead);
        }
    }

    /// Slice `slice` of a block of channels. Some moves are under way at a time.
    __device__ __forceinline__ void pack(unsigned char* stage, const unsigned char* raw, int slice) const {
#pragma unroll
        for (int first = 0; first < rounds; first += at_once) {
            if (first >= rounds_) return;
            Matrices matrices[at_once];
#pragma unroll
            for (int i = first; i < first + at_once && i < rounds; ++i)
                matrices[i - first] = load_matrices_turned(raw + (place_of(i) >> 16) * k_eight_bytes);
#pragma unroll
            for (int i = first; i < first + at_once && i < rounds; ++i)
                store_matrices(stage + ((place_of(i) & 0xffff) * k_eight_bytes ^ slice * slice_bytes),
                               matrices[i - first]);
        }
    }

private:
    static constexpr int k_eight = 8;
    static constexpr int k_eight_bytes = 16;
    static constexpr int k_channels = 16;
    static constexpr int slice_bytes = k_channels * 2;  // of an operand row
    static constexpr int lines = box_n * raw_lines;
    /// Eights of a line that may have positions; with most leads one less has.
    static constexpr int most_eights = (pitch_w + 2 * k_eight - 2) / k_eight;
    static constexpr int round_eights = 2 * k_packing_warps;
    template <int Eights>
    static constexpr int rounds_of = matrix_pack ? (lines* Eights + round_eights - 1) / round_eights : 1;
    static constexpr int rounds = rounds_of<most_eights>;
    static constexpr int k_most_at_once = rounds <= 20 ? 8 : 4;
    static constexpr int batches = (rounds + k_most_at_once - 1) / k_most_at_once;
    static constexpr int at_once = (rounds + batches - 1) / batches;
    static_assert(!matrix_pack || (config::raw_channels == k_channels && raw_width % 16 == k_eight &&
                                   raw_width >= most_eights * k_eight),
                  "a slice is rows of matrices, in unlike banks");
    static_assert(!matrix_pack || lines * k_channels * (raw_width / k_eight) < 0x10000, "places are 16 bits");

    /// A lane's row of the matrices in a slice, in the upper half, and in the operand, for the first slice; in 16
    /// bytes.
    u32 places_[rounds];
    /// Taken apart for each slice, as registers do not suffice for the halves.
    __device__ __forceinline__ u32 place_of(int i) const {
        return static_cast<u32>(held(static_cast<int>(places_[i])));
    }
    int rounds_ = rounds;  // of the tile at hand

    template <int Eights>
    __device__ __forceinline__ void place_eights(int thread, int lead) {
        rounds_ = rounds_of<Eights>;
#pragma unroll
        for (int i = 0; i < rounds; ++i)
            places_[i] =
                place_at<Eights>((i * k_packing_warps + thread / 32) * 2 + thread % 32 / 16, thread % 16, lead);
    }

    /// Of the first eight channels or the next ones channel `row % 8` is read, and position `row % 8` is written: if
    /// not of the box, into a row behind the operand's, where the banks are the same.
    template <int Eights>
    static __device__ __forceinline__ u32 place_at(int eight, int row, int lead) {
        const int line = eight / Eights;
        const int column = eight % Eights;
        const bool present = line < lines;
        const int source = present ? (line * k_channels + row) * (raw_width / k_eight) + column : 0;
        const int position = column * k_eight + row % k_eight - lead;
        const u32 target =
            swizzled<k_operand_row>((line * pitch_w + position) * k_operand_row + row / k_eight * k_eight_bytes);
        const bool inside = present && position >= 0 && position < pitch_w;
        const u32 kept = inside ? target : input_rows * k_operand_row + target % k_operand_row;
        return static_cast<u32>(source) << 16 | kept / k_eight_bytes;
    }
};

}  // namespace tconv::hopper
