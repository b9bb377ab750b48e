// Shares that meet in the block that has made them: by way of shared memory, in place of the chunks of the operands.
#pragma once

#include "overlap_add_store.cuh"

namespace tconv::overlap_add {

constexpr int tap_pitch = shares::pitch(tile_m);
/// Behind the shares, as shares.cuh has them, are the biases of the tile's channels.
constexpr int block_shares = tile_columns * tap_pitch;
constexpr int block_share_floats = block_shares + (problem::bias ? tile_channels : 0);

/// A lane's products, and with them the rest, to where the block's threads read them. Groups of warps may have nothing
/// to put, but for the first.
template <int M, int N>
__device__ __forceinline__ void put_shares(const QuadSums<M, N>& sums, const QuadPlace& place, const Tile& tile,
                                           const Element* bias) {
    float* target = dynamic_shared<float>();
    const int thread = thread_of_group();
    constexpr int bias_pieces = (tile_channels + group_threads - 1) / group_threads;
    float biases[bias_pieces];
#pragma unroll
    for (int i = 0; problem::bias && i < bias_pieces; ++i) {
        const int channel = tile.column / taps + i * group_threads + thread;
        biases[i] = channel < out_group ? bias_of(bias, tile.group * out_group + channel) : 0;
    }
#pragma unroll
    for (int quad_n = 0; quad_n < N; ++quad_n) {
#pragma unroll
        for (int j = 0; j < k_quad; ++j) {
            const int column = place.quad_column(quad_n) + j;
            if (tile_columns < tile_n && column >= tile_columns) continue;
#pragma unroll
            for (int quad = 0; quad < M; ++quad) {
                Floats<k_quad> line;
#pragma unroll
                for (int i = 0; i < k_quad; ++i)
                    line.v[i] = sums[quad][i][quad_n][j];
                tconv::store<k_quad>(target + column * tap_pitch + place.quad_row(quad), line);
            }
        }
    }
    // For positions outside the image.
    for (int column = thread; column < tile_columns; column += group_threads)
        target[column * tap_pitch + tile_m] = 0;
#pragma unroll
    for (int i = 0; problem::bias && i < bias_pieces; ++i) {
        const int channel = i * group_threads + thread;
        if (channel < tile_channels) target[block_shares + channel] = biases[i];
    }
}

constexpr int tile_units = tile_windows * shares::window_units;
using Lanes = shares::Lanes<threads, tile_units>;

/// The outputs of a unit in the thread's channels: from number `lane` of the tile on.
template <int Rows>
__device__ __forceinline__ void store_channels(const shares::Unit& unit, int lane, int first_channel, const Tile& tile,
                                               Element* output) {
    constexpr int channel_shares = taps * tap_pitch;
    constexpr int count = (tile_channels + Lanes::channels - 1) / Lanes::channels;
    constexpr int together = count < 4 ? count : 4;
    const float* all = dynamic_shared<float>();
    shares::ShiftedRows<Rows> at(unit);
    at.skip(lane * channel_shares);
    const int first = tile.group * out_group + first_channel + lane;
    Element* target = shares::first_output(output, unit) + first * shares::output_volume;
#pragma unroll 1
    for (int channel = lane; channel < lane + count * Lanes::channels; channel += together * Lanes::channels) {
#pragma unroll
        for (int i = 0; i < together; ++i) {
            const int number = channel + i * Lanes::channels;
            if (tile_channels % (together * Lanes::channels) != 0 && number >= tile_channels) break;
            if (out_group % tile_channels != 0 && first_channel + number >= out_group) break;
            const float bias = problem::bias ? all[block_shares + number] : 0;
            shares::store_unit(all + i * Lanes::channels * channel_shares, at, unit, bias,
                               target + i * Lanes::channels * shares::output_volume);
        }
        at.skip(together * Lanes::channels * channel_shares);
        target += together * Lanes::channels * shares::output_volume;
    }
}

/// The outputs of a tile in all of its channels, from the shares that its threads have put in `Rows` rows.
template <int Rows>
__device__ __forceinline__ void gather_outputs(const Tile& tile, int batch, Element* output) {
    constexpr int window_rows = shares::whole_images ? static_cast<int>(positions) : Rows;
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = Lanes::channels == 1 ? 0 : thread / Lanes::units;
    if (lane >= Lanes::channels) return;
#pragma unroll 1
    for (int number = thread - lane * Lanes::units; number < tile_units; number += Lanes::units) {
        const shares::Unit unit = shares::find_unit(number, tile.window, window_rows, batch * shares::slices);
        if (unit.exists) store_channels<Rows>(unit, lane, tile.column / taps, tile, output);
    }
}

}  // namespace tconv::overlap_add
