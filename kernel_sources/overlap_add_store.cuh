// What becomes of a tile's products: outputs, where each has one share, or shares in the workspace; and the launch that
// gathers those.
#pragma once

#include "overlap_add_shape.cuh"

namespace tconv::overlap_add {

using shares::output_volume;
constexpr i64 output_entry = problem::out_channels * output_volume;
/// Within a batch entry.
__device__ __forceinline__ Index output_offset(int channel, Index d, Index h, Index w) {
    const Index volume = channels_last ? 0 : static_cast<Index>(channel) * static_cast<Index>(output_volume);
    const Index place = (d * static_cast<Index>(AxisH::output) + h) * static_cast<Index>(AxisW::output) + w;
    return channels_last ? place * static_cast<Index>(problem::out_channels) + channel : volume + place;
}

__device__ __forceinline__ float bias_of(const Element* bias, int channel) {
    if constexpr (problem::bias) return to_float(load_readonly(bias + channel));
    return 0;
}

/// The tile's biases, which would be waited for when all else is done.
__device__ __forceinline__ void prefetch_bias(const Element* bias, const Tile& tile) {
    if constexpr (problem::bias) {
        // Copies of a body that is run once would only have to be fetched.
#pragma unroll 1
        for (int i = static_cast<int>(threadIdx.x); i < tile_n; i += threads) {
            if (tile.column + i < columns) prefetch(bias + tile.group * out_group + column_at(tile.column + i).channel);
        }
    }
}

/// First output of a position: that of the kernel's first tap.
struct Corner {
    i64 entry;
    Index d, h, w;
};
/// Where a tile begins: `place` of batch entry `entry`. Its other rows are found from there.
struct TileStart {
    i64 entry;
    Index place;

    __device__ __forceinline__ explicit TileStart(const Tile& tile)
        : entry(tile.row / positions), place(static_cast<Index>(tile.row % positions)) {}
    __device__ __forceinline__ Corner corner(int row) const {
        const Unsigned from_entry = static_cast<Unsigned>(place) + static_cast<Unsigned>(row);
        const Unsigned position = from_entry % static_cast<Unsigned>(positions);
        const Unsigned line = position / static_cast<Unsigned>(AxisW::input);
        return {entry + static_cast<i64>(from_entry / static_cast<Unsigned>(positions)),
                first<AxisD>(line / static_cast<Unsigned>(AxisH::input)),
                first<AxisH>(line % static_cast<Unsigned>(AxisH::input)),
                first<AxisW>(position % static_cast<Unsigned>(AxisW::input))};
    }

private:
    using Unsigned = UnsignedOf<Index>::type;
    template <class A>
    __device__ __forceinline__ static Index first(Unsigned position) {
        return static_cast<Index>(position) * static_cast<Index>(A::stride) - static_cast<Index>(A::padding);
    }
};

/// Neighbouring outputs that one store writes: of `store_columns` columns, then of `store_positions` positions.
constexpr int store_columns = config::store_columns;
constexpr int store_positions = config::store_positions;

/// True where some of a position's outputs are cropped.
constexpr bool cropped = AxisD::padding != 0 || AxisH::padding != 0 || AxisW::padding != 0;
__device__ __forceinline__ bool is_inside(const Corner& corner, const Column& column) {
    const Index d = corner.d + column.k_d;
    const Index h = corner.h + column.k_h;
    const Index w = corner.w + column.k_w;
    return d >= 0 && d < AxisD::output && h >= 0 && h < AxisH::output && w >= 0 && w < AxisW::output;
}

/// The lane's columns in the output: those that begin a run.
template <int QuadsN>
struct OutputColumns {
    static constexpr int count = QuadsN * k_quad / store_columns;
    int number[count];
    Index offset[count];  // from a position's corner
    float bias[QuadsN * k_quad];

    __device__ __forceinline__ OutputColumns(const Tile& tile, const QuadPlace& place, const Element* biases) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int first = i * store_columns;
            number[i] = tile.column + place.quad_column(first / k_quad) + first % k_quad;
            const Column column = column_at(number[i]);
            offset[i] = output_offset(tile.group * out_group + column.channel, column.k_d, column.k_h, column.k_w);
#pragma unroll
            for (int j = 0; j < store_columns; ++j) {
                const int channel = tile.group * out_group + column_at(number[i] + j).channel;
                bias[first + j] = number[i] + j < columns ? bias_of(biases, channel) : 0;
            }
        }
    }
};

/// The outputs of the lane's columns at `store_positions` positions from `first` of a quad.
template <int M, int N>
__device__ __forceinline__ void store_position(const QuadSums<M, N>& sums, int quad, int first, const Corner& corner,
                                               const OutputColumns<N>& lane, Element* output) {
    Element* target = output + corner.entry * output_entry;
    const Index first_output = output_offset(0, corner.d, corner.h, corner.w);
#pragma unroll
    for (int i = 0; i < OutputColumns<N>::count; ++i) {
        if (lane.number[i] >= columns) continue;
        if constexpr (cropped) {
            if (!is_inside(corner, column_at(lane.number[i]))) continue;
        }
        const int column = i * store_columns;
        float run[store_positions * store_columns];
#pragma unroll
        for (int k = 0; k < store_positions * store_columns; ++k) {
            const int j = column + k % store_columns;
            run[k] = sums[quad][first + k / store_columns][j / k_quad][j % k_quad];
            if constexpr (problem::bias) run[k] += lane.bias[j];
        }
        store_whole<store_positions * store_columns>(target + (first_output + lane.offset[i]), run);
    }
}

/// Every product is an output: kernel = stride, or a single input along an axis.
template <int M, int N>
__device__ __forceinline__ void store_outputs(const QuadSums<M, N>& sums, const QuadPlace& place, const Tile& tile,
                                              i64 rows, const Element* bias, Element* output) {
    const OutputColumns<N> lane(tile, place, bias);
    const TileStart start(tile);
#pragma unroll
    for (int quad = 0; quad < M; ++quad) {
#pragma unroll
        for (int i = 0; i < k_quad; i += store_positions) {
            const int row = place.quad_row(quad) + i;
            if (tile.row + row < rows) store_position(sums, quad, i, start.corner(row), lane, output);
        }
    }
}

/// Lines of shares are whole quads, so a quad that begins inside is written as one.
template <int M, int N>
__device__ __forceinline__ void store_shares(const QuadSums<M, N>& sums, const QuadPlace& place, const Tile& tile,
                                             i64 rows, float* shares) {
#pragma unroll
    for (int quad_n = 0; quad_n < N; ++quad_n) {
        const int column = tile.column + place.quad_column(quad_n);
        if (column >= columns) continue;
#pragma unroll
        for (int quad = 0; quad < M; ++quad) {
            const i64 row = tile.row + place.quad_row(quad);
#pragma unroll
            for (int i = 0; i < k_quad; ++i) {
                Floats<k_quad> line;
#pragma unroll
                for (int j = 0; j < k_quad; ++j)
                    line.v[j] = columns_inner ? sums[quad][i][quad_n][j] : sums[quad][j][quad_n][i];
                const bool inside = columns_inner ? row + i < rows : row < rows && column + i < columns;
                const i64 first_row = columns_inner ? row + i : row;
                const int first_column = columns_inner ? column : column + i;
                if (inside)
                    store_global<k_quad>(shares + share_offset(tile.split, tile.group, first_row, first_column, rows),
                                         line);
            }
        }
    }
}

/// Output channels that a thread of the gathering launch has.
constexpr int gather_channels = config::gather_channels;
constexpr int k_gather_threads = 256;

/// Taps of the phase of output `o` of an axis, and the position that the first of them reads.
template <class A>
struct Reach {
    Taps taps;
    i64 position;
    __device__ __forceinline__ explicit Reach(i64 o)
        : taps(A::Phases::taps((o + A::padding) % A::stride)), position((o + A::padding) / A::stride - taps.offset) {}
    __device__ __forceinline__ int tap(int j) const {
        return taps.first + j * static_cast<int>(A::Phases::kernel_step);
    }
    __device__ __forceinline__ i64 at(int j) const { return position - j * A::Phases::offset_step; }
    __device__ __forceinline__ bool inside(int j) const { return at(j) >= 0 && at(j) < A::input; }
};

/// Adds the shares of `gather_channels` channels in one tap.
__device__ __forceinline__ void add_shares(float (&sums)[gather_channels], const float* shares, int group, i64 row,
                                           const Column& column, i64 rows) {
#pragma unroll
    for (int split = 0; split < splits; ++split) {
#pragma unroll
        for (int c = 0; c < gather_channels; ++c) {
            const Column each{column.channel + c, column.k_d, column.k_h, column.k_w};
            sums[c] += load_readonly(shares + share_offset(split, group, row, column_of(each), rows));
        }
    }
}

/// Output elements of one or a few channels a thread: along the width, or channels last along the channels.
__device__ __forceinline__ void gather(const float* shares, const Element* bias, Element* output, int batch) {
    constexpr i64 sets = problem::out_channels / gather_channels;
    const i64 rows = batch * positions;
    const i64 count = batch * sets * output_volume;
    i64 number = static_cast<i64>(blockIdx.x) * k_gather_threads + threadIdx.x;
    for (; number < count; number += static_cast<i64>(gridDim.x) * k_gather_threads) {
        i64 rest = number;
        i64 set = 0;
        if constexpr (channels_last) {
            set = rest % sets;
            rest /= sets;
        }
        const i64 w = rest % AxisW::output;
        rest /= AxisW::output;
        const i64 h = rest % AxisH::output;
        rest /= AxisH::output;
        const i64 d = rest % AxisD::output;
        rest /= AxisD::output;
        if constexpr (!channels_last) {
            set = rest % sets;
            rest /= sets;
        }
        const int channel = static_cast<int>(set) * gather_channels;
        const int group = channel / out_group;
        float sums[gather_channels] = {};
        const Reach<AxisD> reach_d(d);
        const Reach<AxisH> reach_h(h);
        const Reach<AxisW> reach_w(w);
        for (int j_d = 0; j_d < reach_d.taps.count; ++j_d) {
            if (!reach_d.inside(j_d)) continue;
            for (int j_h = 0; j_h < reach_h.taps.count; ++j_h) {
                if (!reach_h.inside(j_h)) continue;
#pragma unroll 4
                for (int j_w = 0; j_w < reach_w.taps.count; ++j_w) {
                    if (!reach_w.inside(j_w)) continue;
                    const i64 row =
                        ((rest * AxisD::input + reach_d.at(j_d)) * AxisH::input + reach_h.at(j_h)) * AxisW::input +
                        reach_w.at(j_w);
                    add_shares(sums, shares, group, row,
                               {channel % out_group, reach_d.tap(j_d), reach_h.tap(j_h), reach_w.tap(j_w)}, rows);
                }
            }
        }
#pragma unroll
        for (int c = 0; c < gather_channels; ++c)
            sums[c] += bias_of(bias, channel + c);
        const Index at_d = static_cast<Index>(d);
        const Index at_h = static_cast<Index>(h);
        const Index at_w = static_cast<Index>(w);
        if constexpr (channels_last) {
            store_whole<gather_channels>(output + rest * output_entry + output_offset(channel, at_d, at_h, at_w), sums);
        } else {
#pragma unroll
            for (int c = 0; c < gather_channels; ++c)
                output[rest * output_entry + output_offset(channel + c, at_d, at_h, at_w)] =
                    from_float<Element>(sums[c]);
        }
    }
}

}  // namespace tconv::overlap_add
