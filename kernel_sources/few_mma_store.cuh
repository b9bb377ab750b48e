// Complete lines of the output: each position's shares meet in shared memory, where every output adds its own.
#pragma once

#include "element_vectors.cuh"
#include "few_mma_load.cuh"

namespace tconv::few_mma {

/// A warp's sums of the lines that are complete.
__device__ __forceinline__ void put_shares(const Sums& sums, float* shares) {
    const int quarter = quarter_of_lane();
#pragma unroll
    for (int line = 0; line < flushed; ++line) {
#pragma unroll
        for (int i = 0; i < column_tiles; ++i) {
#pragma unroll
            for (int second = 0; second < 2; ++second) {
                const int column = i * 8 + 2 * quarter + second;
                Floats<lane_positions> values;
#pragma unroll
                for (int j = 0; j < lane_positions; ++j)
                    values.v[j] = sums[line][i][j / 2][second + j % 2 * 2];
                if (column < columns)
                    store<lane_positions>(shares + (line * columns + column) * pitch + lane_position(), values);
            }
        }
    }
}

/// Moves on by one line: sums of the lines behind those that are complete, and zeros.
__device__ __forceinline__ void roll(Sums& sums) {
#pragma unroll
    for (int line = 0; line < reach; ++line) {
#pragma unroll
        for (int i = 0; i < column_tiles; ++i) {
#pragma unroll
            for (int j = 0; j < m_fragments; ++j) {
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    sums[line][i][j][k] =
                        line + stride < reach ? sums[line + stride < reach ? line + stride : 0][i][j][k] : 0.0f;
            }
        }
    }
}

/// A unit of the tile.
struct Unit {
    int entry, row, column;  // in the tile
    bool exists;

    __device__ __forceinline__ Unit(int number, const Tile& tile, int batch)
        : entry(number / (SpanR::tile * SpanW::tile)),
          row(number / SpanW::tile % SpanR::tile),
          column(number % SpanW::tile),
          exists(number < units && tile.entry + entry < batch && tile.row + row < static_cast<Index>(Rows::threads) &&
                 tile.column + column < static_cast<Index>(AxisW::threads)) {}
};

/// Outputs of a unit that are neighbours in memory: all phases along the width of row `phase`, of one channel or of
/// all.
constexpr int run_channels = channels_last ? out_channels : 1;
constexpr int runs = out_channels / run_channels;
constexpr int run_length = AxisW::outputs * run_channels;

/// The sum of an output of the unit, in row `phase` of complete line `line`.
__device__ __forceinline__ float sum_of(const float* shares, const Tile& tile, const Unit& unit, int line, int phase,
                                        int phase_w, int channel, float sum) {
#pragma unroll
    for (int row = 0; row < Rows::window; ++row) {
        const int tap_row = Rows::tap(phase, row);
        if (tap_row < 0) continue;
        const bool row_inside = !SpanR::clipped || Rows::holds(tile.row + unit.row, row);
#pragma unroll
        for (int w = 0; w < AxisW::window; ++w) {
            const int tap_w = AxisW::tap(phase_w, w);
            if (tap_w < 0) continue;
            const int column = (tap_row * AxisW::kernel + tap_w) * out_channels + channel;
            const int position = (unit.entry * SpanR::inputs + SpanR::local(unit.row, row)) * SpanW::inputs +
                                 SpanW::local(unit.column, w);
            if (row_inside && (!SpanW::clipped || AxisW::holds(tile.column + unit.column, w)))
                sum += shares[(line * columns + column) * pitch + position];
        }
    }
    return sum;
}

constexpr int store_width = config::store_vector;

struct Bias {
    float values[out_channels];

    __device__ __forceinline__ explicit Bias(const Element* bias) {
#pragma unroll
        for (int i = 0; i < out_channels; ++i)
            values[i] = problem::bias ? to_float(load_readonly(bias + i)) : 0.0f;
    }
};

/// A run of the unit's outputs, in row `phase` of complete line `line`; `first` is the first of them in the tensor.
__device__ __forceinline__ void store_run(const float* shares, const Tile& tile, const Unit& unit, const Bias& bias,
                                          int line, int phase, int run, Element* first) {
    const Index left = (AxisW::output - (tile.column + unit.column) * AxisW::outputs) * run_channels;
#pragma unroll
    for (int number = 0; number < run_length; number += store_width) {
        if (number >= left) continue;
        float values[store_width];
#pragma unroll
        for (int i = 0; i < store_width; ++i) {
            const int channel = run + (number + i) % run_channels;
            const int phase_w = (number + i) / run_channels;
            values[i] = line < flushed ? sum_of(shares, tile, unit, line, phase, phase_w, channel, bias.values[channel])
                                       : bias.values[channel];
        }
        store_vector<store_width>(first + number, values);
    }
}

/// The outputs of the lines that step `step` has completed.
__device__ __forceinline__ void store_lines(const float* shares, const Tile& tile, const Bias& bias, Element* output,
                                            int step, int batch) {
#pragma unroll 1
    for (int number = static_cast<int>(threadIdx.x); number < units; number += threads) {
        const Unit unit(number, tile, batch);
        if (!unit.exists) continue;
        const Index column = (tile.column + unit.column) * AxisW::outputs;
        const Index first_row = (tile.row + unit.row) * Rows::outputs;
        Element* entry = output + static_cast<i64>(tile.entry + unit.entry) * out_channels * output_volume;
#pragma unroll
        for (int line = 0; line < stride; ++line) {
            const i64 output_number = static_cast<i64>(step) * stride + line - Walk::padding;
            if (output_number < 0 || output_number >= Walk::output) continue;
#pragma unroll
            for (int phase = 0; phase < Rows::outputs; ++phase) {
                if (first_row + phase >= Rows::output) continue;
                const Index position =
                    static_cast<Index>(output_number) * output_line + (first_row + phase) * AxisW::output + column;
#pragma unroll
                for (int run = 0; run < runs; ++run)
                    store_run(shares, tile, unit, bias, line, phase, run,
                              entry + position * run_channels + run * output_volume);
            }
        }
    }
}

}  // namespace tconv::few_mma
