// What the overlap_add family's kernels know of problem and config: the product that needs no halo, and what its
// columns are in the output.
//
// The product of one group: M = positions of the input, all batch entries one after the other, N = (output channel,
// tap) in the weights' own order, K = input channels. Both operands are read as they lie. Each product is one output's
// share: output o of an axis gets those of all positions q and taps k with o + padding = q * stride + k * dilation.
#pragma once

#include "element_vectors.cuh"
#include "phases.cuh"
#include "quad_product.cuh"
#include "shares.cuh"

namespace tconv::overlap_add {

using problem::channels_last;

constexpr int in_group = static_cast<int>(problem::in_channels / problem::groups);
constexpr int out_group = static_cast<int>(problem::out_channels / problem::groups);
constexpr int groups = static_cast<int>(problem::groups);
using shares::positions;
using shares::taps;
constexpr int columns = out_group * taps;

template <i64 Input, i64 Kernel, i64 Stride, i64 Padding, i64 Dilation, i64 Divisor, i64 Inverse, i64 Output>
struct Axis {
    using Phases = AxisPhases<Kernel, Stride, Dilation, Divisor, Inverse>;
    static constexpr i64 input = Input;
    static constexpr int kernel = static_cast<int>(Kernel);
    static constexpr int stride = static_cast<int>(Stride);
    static constexpr int padding = static_cast<int>(Padding);
    static constexpr int dilation = static_cast<int>(Dilation);
    static constexpr i64 output = Output;
};
#define TCONV_AXIS(axis)                                                                                 \
    Axis<problem::input_##axis, problem::kernel_##axis, problem::stride_##axis, problem::padding_##axis, \
         problem::dilation_##axis, problem::tap_divisor_##axis, problem::tap_inverse_##axis, problem::output_##axis>
using AxisD = TCONV_AXIS(d);
using AxisH = TCONV_AXIS(h);
using AxisW = TCONV_AXIS(w);
#undef TCONV_AXIS

using namespace quads;

constexpr int chunks = (in_group + chunk - 1) / chunk;
constexpr int splits = config::splits;

/// Shares meet in the block: its columns are whole output channels, its positions windows of images.
constexpr bool in_block = config::gather != 0;
constexpr int tile_channels = config::tile_channels;
/// Columns that a block stores; those past them are its neighbour's.
constexpr int tile_columns = in_block ? tile_channels * taps : tile_n;
constexpr int tiles_n = (columns + tile_columns - 1) / tile_columns;
/// Images of a tile; 1 where they are sliced.
constexpr int tile_windows = config::tile_windows;

/// Outputs are stored by the product itself where each has one share at most; otherwise shares meet in the block, or go
/// to the workspace and a second launch gathers them.
constexpr bool stores_outputs = config::stores_outputs != 0;
/// Shares in the workspace: of a position together, or of a column.
constexpr bool columns_inner = config::columns_inner != 0;

/// What a column is.
struct Column {
    int channel;
    int k_d, k_h, k_w;
};
__device__ __forceinline__ Column column_at(int number) {
    const int channel = channels_last ? number % out_group : number / taps;
    const int tap = channels_last ? number / out_group : number % taps;
    return {channel, tap / (AxisH::kernel * AxisW::kernel), tap / AxisW::kernel % AxisH::kernel, tap % AxisW::kernel};
}
__device__ __forceinline__ int column_of(const Column& c) {
    const int tap = (c.k_d * AxisH::kernel + c.k_h) * AxisW::kernel + c.k_w;
    return channels_last ? tap * out_group + c.channel : c.channel * taps + tap;
}

/// A block's share of the work: positions from `row`, columns from `column`, some chunks of channels.
struct Tile {
    i64 row;     // of a slice of the first image it may lie before that
    int window;  // number of the first of the tile's windows
    int column;
    int group;
    int split;
    int first_chunk, end_chunk;
};
__device__ __forceinline__ bool find_tile(Tile& tile, int number, i64 rows, int batch) {
    const int tiles_m = in_block ? (batch * shares::slices + tile_windows - 1) / tile_windows
                                 : static_cast<int>((rows + tile_m - 1) / tile_m);
    if (number >= tiles_m * (tiles_n * groups * splits)) return false;
    // Neighbouring blocks share positions: the columns' operand is the smaller one.
    tile.column = number % tiles_n * tile_columns;
    number /= tiles_n;
    // A division by what is not known takes long, and blocks do it before anything is on its way.
    const bool alone = groups * splits == 1;
    const int number_m = alone ? number : number % tiles_m;
    if constexpr (in_block) {
        tile.window = number_m * tile_windows;
        tile.row = tile.window / shares::slices * positions + shares::first_position(tile.window % shares::slices);
    } else {
        tile.row = static_cast<i64>(number_m) * tile_m;
    }
    const int rest = alone ? 0 : number / tiles_m;
    tile.split = rest % splits;
    tile.group = rest / splits;
    tile.first_chunk = tile.split * chunks / splits;
    tile.end_chunk = (tile.split + 1) * chunks / splits;
    return true;
}

/// Whether there is a position of that number.
__device__ __forceinline__ bool has_row(i64 row, i64 rows) {
    return row < rows && (!in_block || row >= 0);
}

/// Rows of shares in the workspace are whole quads.
__device__ __forceinline__ i64 share_pitch(i64 rows) {
    return columns_inner ? (columns + k_quad - 1) / k_quad * k_quad : (rows + k_quad - 1) / k_quad * k_quad;
}
__device__ __forceinline__ i64 share_lines(i64 rows) {
    return columns_inner ? rows : columns;
}
/// Offset of the share of position `row` in column `column`.
__device__ __forceinline__ i64 share_offset(int split, int group, i64 row, int column, i64 rows) {
    const i64 line = columns_inner ? row : column;
    const i64 place = columns_inner ? column : row;
    return ((static_cast<i64>(group) * splits + split) * share_lines(rows) + line) * share_pitch(rows) + place;
}

}  // namespace tconv::overlap_add
