// Channels-last stores: the channels of a phase lie together, so a warp goes by itself, position by position.
#pragma once

#include "hopper_stage.cuh"

namespace tconv::hopper {

/// Bytes [first, first + BYTES) of a piece of 16.
template <int BYTES>
__device__ __forceinline__ void store_part(Element* target, const Floats<4>& piece, int first) {
    float* address = reinterpret_cast<float*>(target);
    if constexpr (BYTES == 16) {
        store<4>(address, piece);
    } else if constexpr (BYTES == 8) {
        store<2>(address, Floats<2>{{piece.v[first / 4], piece.v[first / 4 + 1]}});
    } else if constexpr (BYTES == 4) {
        store<1>(address, Floats<1>{{piece.v[first / 4]}});
    } else if constexpr (element_bytes == 2) {
        *target = Element{static_cast<u16>(__float_as_uint(piece.v[first / 4]) >> (first % 4 * 8))};
    }
}

struct StoreLast {
    static constexpr int warp_rows = 16;
    static constexpr int row_bytes = chunk_columns * element_bytes;
    /// Room that keeps the accumulators' pairs of eight rows in different banks.
    static constexpr int pitch = row_bytes + (element_bytes == 2 ? 16 : 32);
    static constexpr int row_threads = row_bytes / 16;
    static constexpr int passes = warp_rows * row_threads / 32;
    static constexpr int piece_columns = 16 / element_bytes;
    static constexpr int part_bytes = config::store_bytes;
    static constexpr int part_columns = part_bytes / element_bytes;
    static_assert(!channels_last || config::store_shifted || 4 * warp_rows * pitch <= staging_bytes,
                  "the staging holds the rows of four warps");

    __device__ static void run(const float (&sums)[tile_n / 2], const Tile& tile, int first_row, unsigned char* staging,
                               const Element* bias, Element* output, int batch) {
        const int lane = threadIdx.x % 32;
        const int warp = threadIdx.x % k_warpgroup / 32;
        unsigned char* rows = staging + warp * (warp_rows * pitch);
        Position at[passes];
#pragma unroll
        for (int pass = 0; pass < passes; ++pass)
            at[pass] =
                position_of(tile, first_row + warp * warp_rows + pass * (32 / row_threads) + lane / row_threads, batch);
#pragma unroll
        for (int chunk = 0; chunk < tile_n / chunk_columns; ++chunk) {
            const int first = tile.column + chunk * chunk_columns;
#pragma unroll
            for (int j = 0; j < chunk_columns / 8; ++j) {
                const int column = 8 * j + 2 * (lane % 4);
                const Pair offset = bias_pair(bias, tile, first + column);
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int from = 4 * (chunk * (chunk_columns / 8) + j) + 2 * half;
                    Element* to = reinterpret_cast<Element*>(rows + (lane / 4 + 8 * half) * pitch) + column;
                    put(to, sums[from] + offset.v[0], sums[from + 1] + offset.v[1]);
                }
            }
            __syncwarp();
#pragma unroll
            for (int pass = 0; pass < passes; ++pass) {
                const int row = pass * (32 / row_threads) + lane / row_threads;
                const int piece = lane % row_threads;
                const Floats<4> values = load<4>(reinterpret_cast<const float*>(rows + row * pitch + 16 * piece));
#pragma unroll
                for (int part = 0; part < 16 / part_bytes; ++part) {
                    const int number = first + piece * piece_columns + part * part_columns;
                    if (number >= columns) break;
                    const i64 offset = output_offset(at[pass], column_at(number), tile.group);
                    if (offset >= 0) store_part<part_bytes>(output + offset, values, part * part_bytes);
                }
            }
            __syncwarp();
        }
    }

    __device__ static __forceinline__ void put(float* to, float a, float b) {
        store<2>(to, Floats<2>{{a, b}});
    }
    template <class T>
    __device__ static __forceinline__ void put(T* to, float a, float b) {
        const u32 word = from_float<T>(a).bits | static_cast<u32>(from_float<T>(b).bits) << 16;
        store<1>(reinterpret_cast<float*>(to), Floats<1>{{__uint_as_float(word)}});
    }
};

}  // namespace tconv::hopper
