// A lane's sums to the output straight from registers: positions that lie side by side are, with their phases along the
// width, a run of a row, which goes there in vectors.
#pragma once

#include "element_vectors.cuh"
#include "fma_shape.cuh"
#include "product_direct.cuh"

namespace tconv::product {

/// Groups of positions of a lane: each is a run of a row.
constexpr int groups = m_fragments / row_vector;
constexpr int group_rows = row_vector * fragment_rows;

/// Whether a group's number leaves what a position's number is modulo `radix`, or never carries over it.
__device__ constexpr bool never_carries(int radix) {
    return group_rows % radix == 0 || radix % warp_rows == 0;
}
/// True where a lane's groups lie a constant distance behind its first.
constexpr bool even_groups =
    reuse_rows || (never_carries(tile_w) && never_carries(tile_w * tile_h) && never_carries(tile_w * tile_h * tile_d));
__device__ constexpr Position step_of(int group) {
    const int number = group * group_rows;
    if (reuse_rows) return {0, 0, group, 0};
    return {number / (tile_w * tile_h * tile_d), number / (tile_w * tile_h) % tile_d, number / tile_w % tile_h,
            number % tile_w};
}

// What never reaches outside of the output is not looked at.
template <class A>
__device__ constexpr bool whole_tiles(int tile) {
    return A::output % A::stride == 0 && (!A::joined || A::padding % A::stride == 0) && A::positions % tile == 0;
}
constexpr bool whole_d = whole_tiles<AxisD>(tile_d);
constexpr bool whole_h = whole_tiles<AxisH>(tile_h);
constexpr bool whole_w = whole_tiles<AxisW>(tile_w);
constexpr bool full_rows = tile_n * tile_d * tile_h * tile_w == warps_m * warp_rows;

template <class A>
__device__ __forceinline__ bool is_inside(Index out) {
    return out >= 0 && out < A::output;
}

/// Where a group goes.
struct Target {
    Element* address;           // at phase 0 of joined axes, of the lane's first channel
    Index out_d, out_h, out_w;  // likewise
    bool exists;                // there is such a position in the tile, and such an entry in the batch

    __device__ __forceinline__ bool has_row(int d, int h) const {
        return exists && (whole_d || is_inside<AxisD>(out_d + d)) && (whole_h || is_inside<AxisH>(out_h + h));
    }
    __device__ __forceinline__ bool has_column(int w) const { return whole_w || is_inside<AxisW>(out_w + w); }
};

__device__ __forceinline__ bool exists(const Position& p, const Place& place, int batch) {
    return (full_rows || in_tile(p)) && (tile_n == 1 || place.batch + p.n < batch);
}

__device__ __forceinline__ Target target_of(const Position& p, const Place& place, int batch, int channel,
                                            Element* output) {
    const Index out_d = (place.q_d + p.d) * AxisD::stride + place.phase_d - AxisD::padding;
    const Index out_h = (place.q_h + p.h) * AxisH::stride + place.phase_h - AxisH::padding;
    const Index out_w = (place.q_w + p.w) * AxisW::stride - AxisW::padding;
    const i64 line = static_cast<i64>(place.batch + p.n) * problem::out_channels + place.group * out_group + channel;
    const i64 position = (static_cast<i64>(out_d) * AxisH::output + out_h) * AxisW::output + out_w;
    return {output + (line * output_volume + position), out_d, out_h, out_w, exists(p, place, batch)};
}

/// A group's target from that of the lane's first, whose position is `p`.
__device__ __forceinline__ Target target_behind(const Target& first, const Position& p, int group, const Place& place,
                                                int batch) {
    const Position step = step_of(group);
    const Index d = step.d * AxisD::stride;
    const Index h = step.h * AxisH::stride;
    const Index w = step.w * AxisW::stride;
    const i64 offset = step.n * (problem::out_channels * output_volume) +
                       (static_cast<i64>(d) * AxisH::output + h) * AxisW::output + w;
    return {first.address + offset, first.out_d + d, first.out_h + h, first.out_w + w,
            exists({p.n + step.n, p.d + step.d, p.h + step.h, p.w + step.w}, place, batch)};
}

struct Targets {
    Target of[groups];
};
__device__ __forceinline__ Targets targets_of(const Place& place, int batch, int warp_m, int channel, Element* output) {
    Targets targets;
    const Position first = position_of(warp_m, 0, lane_row(0));
    targets.of[0] = target_of(first, place, batch, channel, output);
#pragma unroll
    for (int group = 1; group < groups; ++group)
        targets.of[group] = even_groups ? target_behind(targets.of[0], first, group, place, batch)
                                        : target_of(position_of(warp_m, group * row_vector, lane_row(0)), place, batch,
                                                    channel, output);
    return targets;
}

/// Rounds N values and writes them in one access.
template <int N, class T>
__device__ __forceinline__ void write_vector(T* target, const float* values) {
    if constexpr (N == 1) {
        *target = from_float<T>(*values);
    } else if constexpr (sizeof(T) == 2) {
        Floats<N / 2> words;
#pragma unroll
        for (int i = 0; i < N; i += 2)
            words.v[i / 2] = __uint_as_float(pack_pair(T{}, values[i], values[i + 1]));
        store_global<N / 2>(reinterpret_cast<float*>(target), words);
    } else {
        Floats<N> vector;
#pragma unroll
        for (int i = 0; i < N; ++i)
            vector.v[i] = values[i];
        store_global<N>(target, vector);
    }
}

/// A channel's runs of one group: a row for each phase along depth and height.
__device__ __forceinline__ void write_runs(const Sums& sums, int group, int n, int i, float bias, const Target& target,
                                           Element* address) {
#pragma unroll
    for (int round = 0; round < rounds; ++round) {
        const int d = round / AxisH::block_phases;
        const int h = round % AxisH::block_phases;
        float run[lane_run];
#pragma unroll
        for (int k = 0; k < lane_run; ++k) {
            const int m = group * row_vector + k / AxisW::block_phases;
            const float sum = sum_at(sums, m, n, i, d, h, k % AxisW::block_phases);
            run[k] = problem::bias ? sum + bias : sum;
        }
        if (!target.has_row(d, h)) continue;
        Element* row = address + line_offset({0, d, h});
#pragma unroll
        for (int k = 0; k < lane_run; k += run_vector)
            if (target.has_column(k)) write_vector<run_vector>(row + k, run + k);
    }
}

/// Every address is that of the lane's first output and a constant.
__device__ __forceinline__ void store_direct(const Sums& sums, const Element* bias, Element* output, const Place& place,
                                             int batch, int warp_m, int first_channel) {
    const int channel = first_channel + fragment_column(0);
    float biases[lane_columns];
#pragma unroll
    for (int column = 0; column < lane_columns; ++column)
        biases[column] =
            bias_at(bias, place, channel + column / fragment_sums * fragment_columns + column % fragment_sums);
    const Targets targets = targets_of(place, batch, warp_m, channel, output);
#pragma unroll
    for (int column = 0; column < lane_columns; ++column) {
        const int n = column / fragment_sums;
        const int i = column % fragment_sums;
        const int behind = n * fragment_columns + i;
        if (!whole_channels && channel + behind >= out_group) break;
#pragma unroll
        for (int group = 0; group < groups; ++group)
            write_runs(sums, group, n, i, biases[column], targets.of[group],
                       targets.of[group].address + behind * output_volume);
    }
}

}  // namespace tconv::product
