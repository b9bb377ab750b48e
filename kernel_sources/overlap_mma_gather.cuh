// Outputs of the overlap_mma family: their shares meet in shared memory, some channels at a time.
#pragma once

#include "element_vectors.cuh"
#include "overlap_mma_pipeline.cuh"

namespace tconv::overlap_mma {

/// Writes a product's columns of channels [First, First + Count) where the team's threads read them: line by line, rows
/// from `row` on. Thread t has rows t % 32 / 4 and + 8 of the 16 of its warp, and two of every eight columns.
template <int First, int Count>
__device__ __forceinline__ void put_shares(const float (&sums)[product_n / 2], float* shares, int row) {
    constexpr int begin = First * taps;
    constexpr int end = begin + Count * taps;
    const int lane_column = static_cast<int>(threadIdx.x) % 4 * 2;
    const int lane_row =
        row + static_cast<int>(threadIdx.x) % k_warpgroup / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
    float* target = shares + lane_column * share_pitch + lane_row;
#pragma unroll
    for (int i = 0; i < product_n / 2; ++i) {
        const int eight = i / 4 * 8;
        if (eight + 8 <= begin || eight >= end) continue;
        const int column = eight + i % 2;
        const bool whole = eight >= begin && eight + 8 <= end;
        if (whole || (column + lane_column >= begin && column + lane_column < end))
            target[(column - begin) * share_pitch + i % 4 / 2 * 8] = sums[i];
    }
}

/// Threads that have a run of outputs each; where there are enough, several have those of different channels.
constexpr int window_units = slices == 1 ? AxisD::units * AxisH::units * AxisW::units
                                         : slice_units * (slice_axis == 0   ? AxisH::units * AxisW::units
                                                          : slice_axis == 1 ? AxisW::units
                                                                            : 1);
constexpr int team_units = team_windows * window_units;
constexpr int unit_threads = team_units >= team_threads ? team_threads : (team_units + 31) / 32 * 32;
constexpr int channel_lanes = team_threads / unit_threads;

/// Outputs of one store.
constexpr int store_run = config::store_run;

/// A position of outputs: `stride` of them along each axis.
struct Unit {
    bool exists;
    int image;
    int d, h, w;
    int row;  // where the input position of the same number is
};
template <int SliceAxis, class A>
__device__ __forceinline__ int split_unit(int& rest, bool outermost) {
    if (outermost) return rest;
    const int own = rest % A::units;
    rest /= A::units;
    return own;
}
__device__ __forceinline__ Unit find_unit(int number, const Tile& tile, int team, int windows) {
    const int window = number / window_units;
    const int numbered = tile.window + team * team_windows + window;
    const int slice = numbered % slices;
    int rest = number % window_units;
    const int from = slices == 1 ? 0 : slice * slice_units;
    Unit unit{};
    unit.image = numbered / slices;
    unit.w = split_unit<slice_axis, AxisW>(rest, slice_axis == 2) + (slice_axis == 2 ? from : 0);
    if constexpr (slice_axis < 2)
        unit.h = split_unit<slice_axis, AxisH>(rest, slice_axis == 1) + (slice_axis == 1 ? from : 0);
    if constexpr (slice_axis < 1) unit.d = rest + from;
    unit.exists = numbered < windows && unit.d < AxisD::units && unit.h < AxisH::units && unit.w < AxisW::units;
    unit.row = window * window_rows + (unit.d * AxisH::input + unit.h) * AxisW::input + unit.w - first_position(slice);
    return unit;
}

/// Rows of all shifts, or the row of zeros.
struct ShiftedRows {
    static constexpr int count = AxisD::shifts * AxisH::shifts * AxisW::shifts;
    int rows[count];

    __device__ static constexpr int number(int d, int h, int w) {
        return ((d - AxisD::least_shift) * AxisH::shifts + h - AxisH::least_shift) * AxisW::shifts + w -
               AxisW::least_shift;
    }
    __device__ __forceinline__ explicit ShiftedRows(const Unit& unit) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int d = i / (AxisH::shifts * AxisW::shifts) + AxisD::least_shift;
            const int h = i / AxisW::shifts % AxisH::shifts + AxisH::least_shift;
            const int w = i % AxisW::shifts + AxisW::least_shift;
            const bool inside = AxisD::inside(unit.d - d) && AxisH::inside(unit.h - h) && AxisW::inside(unit.w - w);
            rows[i] = inside ? unit.row - (d * AxisH::input + h) * AxisW::input - w : zero_row;
        }
    }
};

/// The shares of an output, which is number `v_d`, `v_h`, `v_w` of its unit along the axes.
__device__ __forceinline__ float add_shares(const float* shares, const ShiftedRows& at, int v_d, int v_h, int v_w) {
    float sum = 0;
#pragma unroll
    for (int j_d = 0; j_d < AxisD::max_taps; ++j_d) {
#pragma unroll
        for (int j_h = 0; j_h < AxisH::max_taps; ++j_h) {
#pragma unroll
            for (int j_w = 0; j_w < AxisW::max_taps; ++j_w) {
                if (j_d >= AxisD::taps(v_d).count || j_h >= AxisH::taps(v_h).count || j_w >= AxisW::taps(v_w).count)
                    continue;
                const int tap = (AxisD::tap(v_d, j_d) * AxisH::kernel + AxisH::tap(v_h, j_h)) * AxisW::kernel +
                                AxisW::tap(v_w, j_w);
                const int row = at.rows[ShiftedRows::number(AxisD::shift(v_d, j_d), AxisH::shift(v_h, j_h),
                                                            AxisW::shift(v_w, j_w))];
                sum += shares[tap * share_pitch + row];
            }
        }
    }
    return sum;
}

/// Rounds N sums and writes them in one access, which the compiler may not take apart.
template <int N>
__device__ __forceinline__ void store_outputs(Element* target, const float* sums) {
    if constexpr (N == 1) {
        *target = from_float<Element>(sums[0]);
    } else {
        Floats<N / 2> vector;
#pragma unroll
        for (int i = 0; i < N / 2; ++i)
            vector.v[i] = __uint_as_float(pack_pair(Element{}, sums[2 * i], sums[2 * i + 1]));
        store_global<N / 2>(reinterpret_cast<float*>(target), vector);
    }
}

/// The outputs of a unit in one channel; `target` is where the first of them goes.
__device__ __forceinline__ void store_unit(const float* shares, const ShiftedRows& at, const Unit& unit, float bias,
                                           Element* target) {
#pragma unroll
    for (int v_d = 0; v_d < AxisD::stride; ++v_d) {
#pragma unroll
        for (int v_h = 0; v_h < AxisH::stride; ++v_h) {
            if (!AxisD::whole_units && unit.d * AxisD::stride + v_d >= AxisD::output) continue;
            if (!AxisH::whole_units && unit.h * AxisH::stride + v_h >= AxisH::output) continue;
            float sums[AxisW::stride];
#pragma unroll
            for (int v_w = 0; v_w < AxisW::stride; ++v_w)
                sums[v_w] = add_shares(shares, at, v_d, v_h, v_w) + bias;
#pragma unroll
            for (int v_w = 0; v_w < AxisW::stride; v_w += store_run) {
                if (!AxisW::whole_units && unit.w * AxisW::stride + v_w >= AxisW::output) continue;
                store_outputs<store_run>(target + (v_d * AxisH::output + v_h) * AxisW::output + v_w, &sums[v_w]);
            }
        }
    }
}

/// Stores the outputs of channels [First, First + Count) of a tile, whose shares the team has written.
template <int First, int Count>
__device__ __forceinline__ void gather(const float* shares, const Tile& tile, int team, const Element* bias,
                                       Element* output, int windows) {
    const int thread = static_cast<int>(threadIdx.x) % team_threads;
    const int lane = channel_lanes == 1 ? 0 : thread / unit_threads;
    if (channel_lanes * unit_threads < team_threads && lane >= channel_lanes) return;
    const int first_channel = tile.channel + First + lane;
#pragma unroll 1
    for (int number = thread - lane * unit_threads; number < team_units; number += unit_threads) {
        const Unit unit = find_unit(number, tile, team, windows);
        if (!unit.exists) continue;
        const ShiftedRows at(unit);
        const i64 line = static_cast<i64>(unit.image) * problem::out_channels + tile.group * out_group + first_channel;
        Element* target = output + line * output_volume +
                          ((unit.d * AxisD::stride) * AxisH::output + unit.h * AxisH::stride) * AxisW::output +
                          unit.w * AxisW::stride;
#pragma unroll
        for (int i = 0; i < Count; i += channel_lanes) {
            if (Count % channel_lanes != 0 && i + lane >= Count) continue;
            if (out_group % tile_channels != 0 && first_channel + i >= out_group) continue;
            float own_bias = 0;
            if constexpr (problem::bias)
                own_bias = to_float(load_readonly(bias + tile.group * out_group + first_channel + i));
            store_unit(shares + (lane + i) * taps * share_pitch, at, unit, own_bias, target + i * output_volume);
        }
    }
}

/// Waits for the team's other warps.
__device__ __forceinline__ void meet_team(const Pipeline& pipeline, u32& parity) {
    if constexpr (team_warpgroups == 1) {
        warpgroup_sync(threadIdx.x / k_warpgroup);
    } else {
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(*pipeline.met);
        barrier_wait_together(*pipeline.met, parity);
        parity ^= 1;
    }
}

/// Outputs of a tile from the products of its team, from channel First of the tile on.
template <int First = 0>
__device__ __forceinline__ void store_tile(const float (&sums)[rows][product_n / 2], const Tile& tile,
                                           const Pipeline& pipeline, u32& parity, const Element* bias, Element* output,
                                           int windows) {
    constexpr int count = First + pass_channels <= tile_channels ? pass_channels : tile_channels - First;
    const int warpgroup = threadIdx.x / k_warpgroup;
    const int team = warpgroup / team_warpgroups;
    float* shares = pipeline.shares + team * share_floats;
    // What the threads before have still to read there.
    meet_team(pipeline, parity);
#pragma unroll
    for (int row = 0; row < rows; ++row)
        put_shares<First, count>(sums[row], shares, (warpgroup % team_warpgroups * rows + row) * k_product_rows);
    meet_team(pipeline, parity);
    gather<First, count>(shares, tile, team, bias, output, windows);
    if constexpr (First + count < tile_channels)
        store_tile<First + count>(sums, tile, pipeline, parity, bias, output, windows);
}

}  // namespace tconv::overlap_mma
