// The matrix products of all points: [matrix][column][row].
#pragma once

#include "quad_copy.cuh"
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

using InputLines = CopiedLines<float, tile_m, k_quad>;
using WeightLines = CopiedLines<float, tile_n, k_quad>;

struct Work {
    static constexpr bool passes = false;
    static constexpr int share_floats = 0;

    const float* input;
    const float* weight;
    float* products;
    int rows;
    Tile tile;
    Tile kept;

    InputLines input_at;
    WeightLines weight_at;

    __device__ __forceinline__ bool find(int number) {
        const int tiles_m = (rows + tile_m - 1) / tile_m;
        if (number >= tiles_m * (tiles_n * matrices)) return false;
        tile.column = number % tiles_n * tile_n;
        number /= tiles_n;
        tile.row = number % tiles_m * tile_m;
        tile.matrix = number / tiles_m;
        return true;
    }
    __device__ __forceinline__ int first_chunk() const { return 0; }
    __device__ __forceinline__ int end_chunk() const { return chunks; }
    __device__ __forceinline__ void place() {
        if constexpr (AxisD::kept == 1) place_lines(0, 0);
    }
    /// The lines of a chunk. A later tap reads an earlier place along the depth; there are zeros before the first.
    __device__ __forceinline__ void place_lines(int kept_tap, int channel) {
        const i64 pitch = row_pitch(rows);
#pragma unroll
        for (int i = 0; i < InputLines::places; ++i) {
            const int row = tile.row - kept_tap * plane + InputLines::place(i);
            input_at.place_at(i, row >= 0 && row < rows, input + input_line(tile.matrix, channel, pitch) + row, pitch);
        }
#pragma unroll
        for (int i = 0; i < WeightLines::places; ++i) {
            const int column = tile.column + WeightLines::place(i);
            weight_at.place_at(i, column < columns, weight + weight_line(tile.matrix, kept_tap, channel) + column,
                               column_pitch);
        }
    }
    __device__ __forceinline__ void start(Chunk& target, int number, int) {
        if (number >= chunks) return;
        const int channel = number % channel_chunks * chunk;
        if constexpr (AxisD::kept > 1) place_lines(number / channel_chunks, channel);
        constexpr bool whole = in_group % chunk == 0;
        const int channels = in_group - channel;
        input_at.template copy<whole, (AxisD::kept > 1)>(target.input, input, row_pitch(rows), channels);
        weight_at.template copy<whole, false>(target.weight, weight, column_pitch, channels);
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
