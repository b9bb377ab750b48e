// The matrix products of all points: [matrix][column][row].
#pragma once

#include "winograd_shape.cuh"

namespace tconv::winograd {

constexpr int channel_chunks = (in_group + chunk - 1) / chunk;
constexpr int chunks = AxisD::kept * channel_chunks;
constexpr int tiles_n = (columns + tile_n - 1) / tile_n;

/// A block's share of the work: rows and columns of one matrix.
struct Tile {
    int row;
    int column;
    int matrix;
};

struct Work {
    const float* input;
    const float* weight;
    float* products;
    int rows;
    Tile tile;
    Tile kept;

    __device__ __forceinline__ bool find(i64 number) {
        const int tiles_m = (rows + tile_m - 1) / tile_m;
        if (number >= static_cast<i64>(tiles_m) * tiles_n * matrices) return false;
        tile.column = static_cast<int>(number % tiles_n) * tile_n;
        number /= tiles_n;
        tile.row = static_cast<int>(number % tiles_m) * tile_m;
        tile.matrix = static_cast<int>(number / tiles_m);
        return true;
    }
    __device__ __forceinline__ int first_chunk() const { return 0; }
    __device__ __forceinline__ int end_chunk() const { return chunks; }
    __device__ __forceinline__ void place() {}

    /// Quads of `Size` neighbours of each of a chunk's channels, from `first` of the operand's `end` on; zeros outside.
    template <int Size>
    __device__ __forceinline__ static void copy(float (&target)[chunk][Size], const float* operand, i64 pitch,
                                                int first_channel, int first, int end) {
        using Pieces = quads::Pieces<Size, k_quad>;
        const float* source = operand + (first_channel + Pieces::channel(0)) * pitch + first + Pieces::place(0);
#pragma unroll
        for (int i = 0; i < Pieces::count; ++i) {
            if (!Pieces::is_mine(i)) break;
            const int channel = Pieces::channel(i);
            const int place = Pieces::place(i);
            const bool has_channel = in_group % chunk == 0 || first_channel + channel < in_group;
            const bool valid = has_channel && first + place >= 0 && first + place < end;
            if constexpr (!Pieces::regular) source = operand + (first_channel + channel) * pitch + first + place;
            copy_async<16>(&target[channel][place], valid ? source : operand, valid);
            source += threads / Pieces::line * pitch;
        }
    }
    __device__ __forceinline__ void start(Chunk& target, int number, int) const {
        if (number >= chunks) return;
        const int kept_tap = number / channel_chunks;
        const int channel = number % channel_chunks * chunk;
        const i64 pitch = row_pitch(rows);
        // A later tap reads an earlier place along the depth.
        copy(target.input, input + input_line(tile.matrix, 0, pitch), pitch, channel, tile.row - kept_tap * plane,
             rows);
        copy(target.weight, weight + weight_line(tile.matrix, kept_tap, 0), column_pitch, channel, tile.column,
             columns);
    }
    __device__ __forceinline__ void finish(Chunk&, int) const {}
    __device__ __forceinline__ void meanwhile() const {}
    __device__ __forceinline__ void keep() {
        kept = tile;
    }

    /// Lines are whole quads, so a quad that begins inside is written as one.
    template <int M, int N>
    __device__ __forceinline__ void store(const QuadSums<M, N>& sums, const QuadPlace& place) const {
        const i64 pitch = row_pitch(rows);
#pragma unroll
        for (int quad_n = 0; quad_n < N; ++quad_n) {
#pragma unroll
            for (int j = 0; j < k_quad; ++j) {
                const int column = kept.column + place.quad_column(quad_n) + j;
                if (column >= columns) continue;
                float* line = products + product_line(kept.matrix, column, pitch);
#pragma unroll
                for (int quad = 0; quad < M; ++quad) {
                    const int row = kept.row + place.quad_row(quad);
                    if (row >= rows) continue;
                    Floats<k_quad> values;
#pragma unroll
                    for (int i = 0; i < k_quad; ++i)
                        values.v[i] = sums[quad][i][quad_n][j];
                    store_global<k_quad>(line + row, values);
                }
            }
        }
    }
};

}  // namespace tconv::winograd
