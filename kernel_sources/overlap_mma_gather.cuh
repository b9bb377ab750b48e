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
constexpr int window_units = whole_images      ? AxisD::units * AxisH::units * AxisW::units
                             : slice_axis == 0 ? slice_units * AxisH::units * AxisW::units
                             : slice_axis == 1 ? slice_units * AxisW::units
                                               : slice_units;
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
/// The number of a unit along an axis; along the outermost one those of a slice begin with number `from`.
template <class A>
__device__ __forceinline__ int split_unit(int& rest, bool outermost, int from) {
    if (outermost) return from + rest;
    const int own = rest % A::units;
    rest /= A::units;
    return own;
}
__device__ __forceinline__ Unit find_unit(int number, const Tile& tile, int team, int windows) {
    const int window = number / window_units;
    const int numbered = tile.window + team * team_windows + window;
    const int slice = numbered % slices;
    int rest = number % window_units;
    const int from = whole_images ? 0 : slice * slice_units;
    Unit unit{};
    unit.image = numbered / slices;
    unit.w = split_unit<AxisW>(rest, slice_axis == 2, from);
    if constexpr (slice_axis < 2) unit.h = split_unit<AxisH>(rest, slice_axis == 1, from);
    if constexpr (slice_axis < 1) unit.d = from + rest;
    unit.exists = number < team_units && numbered < windows && unit.d < AxisD::units && unit.h < AxisH::units &&
                  unit.w < AxisW::units;
    unit.row = window * window_rows + (unit.d * AxisH::input + unit.h) * AxisW::input + unit.w - first_position(slice);
    return unit;
}

/// Rows of all shifts, or the row of zeros.
struct ShiftedRows {
    static constexpr int count = AxisD::shifts * AxisH::shifts * AxisW::shifts;
    int rows[count];

    __device__ __forceinline__ int row(int d, int h, int w) const {
        return rows[((d - AxisD::least_shift) * AxisH::shifts + h - AxisH::least_shift) * AxisW::shifts + w -
                    AxisW::least_shift];
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

/// The sum of the shares of an output, which is number `v_d`, `v_h`, `v_w` of its unit along the axes, and the bias.
__device__ __forceinline__ float add_shares(const float* shares, const ShiftedRows& at, int v_d, int v_h, int v_w,
                                            float bias) {
    const Taps taps_d = AxisD::taps(v_d);
    const Taps taps_h = AxisH::taps(v_h);
    const Taps taps_w = AxisW::taps(v_w);
    float sum = bias;
#pragma unroll
    for (int j_d = 0; j_d < AxisD::max_taps; ++j_d) {
#pragma unroll
        for (int j_h = 0; j_h < AxisH::max_taps; ++j_h) {
#pragma unroll
            for (int j_w = 0; j_w < AxisW::max_taps; ++j_w) {
                if (j_d >= taps_d.count || j_h >= taps_h.count || j_w >= taps_w.count) continue;
                const int tap = (AxisD::tap(v_d, j_d) * AxisH::kernel + AxisH::tap(v_h, j_h)) * AxisW::kernel +
                                AxisW::tap(v_w, j_w);
                const float share = shares[tap * share_pitch + at.row(AxisD::shift(v_d, j_d), AxisH::shift(v_h, j_h),
                                                                      AxisW::shift(v_w, j_w))];
                sum = problem::bias || j_d + j_h + j_w > 0 ? sum + share : share;
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
                sums[v_w] = add_shares(shares, at, v_d, v_h, v_w, bias);
#pragma unroll
            for (int v_w = 0; v_w < AxisW::stride; v_w += store_run) {
                if (!AxisW::whole_units && unit.w * AxisW::stride + v_w >= AxisW::output) continue;
                store_outputs<store_run>(target + (v_d * AxisH::output + v_h) * AxisW::output + v_w, &sums[v_w]);
            }
        }
    }
}

/// A thread's unit of a tile, in the channels from number `lane` on.
struct Place {
    int lane;
    Unit unit;
    ShiftedRows at;
    Element* target;  // the unit's first output in the first of these channels

    __device__ __forceinline__ Place(int thread, int past, const Tile& tile, int team, Element* output, int windows)
        : lane(channel_lanes == 1 ? 0 : thread / unit_threads),
          unit(find_unit(thread - lane * unit_threads + past, tile, team, windows)),
          at(unit) {
        if (channel_lanes * unit_threads < team_threads && lane >= channel_lanes) unit.exists = false;
        const i64 line =
            static_cast<i64>(unit.image) * problem::out_channels + tile.group * out_group + tile.channel + lane;
        const int corner =
            (unit.d * AxisD::stride * AxisH::output + unit.h * AxisH::stride) * AxisW::output + unit.w * AxisW::stride;
        target = output + line * output_volume + corner;
    }
};
/// With as many units as threads a place lasts for a tile.
constexpr bool one_place = team_units <= unit_threads;

/// Stores the outputs of channels [First, First + Count) of a tile at a place, whose shares the team has written.
template <int First, int Count>
__device__ __forceinline__ void store_place(const float* shares, const float* biases, const Tile& tile,
                                            const Place& place) {
    if (!place.unit.exists) return;
#pragma unroll
    for (int i = 0; i < Count; i += channel_lanes) {
        const int channel = i + place.lane;
        if (Count % channel_lanes != 0 && channel >= Count) continue;
        if (out_group % tile_channels != 0 && tile.channel + First + channel >= out_group) continue;
        const float bias = problem::bias ? biases[First + channel] : 0;
        store_unit(shares + channel * taps * share_pitch, place.at, place.unit, bias,
                   place.target + (First + i) * static_cast<i64>(output_volume));
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

/// The biases of a tile's channels, on their way to where the team's threads read them.
struct Biases {
    static constexpr int count = (tile_channels + team_threads - 1) / team_threads;
    float values[count];

    __device__ __forceinline__ Biases(const Element* bias, const Tile& tile) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int channel = number(i);
            values[i] = 0;
            if (problem::bias && channel < tile_channels && tile.channel + channel < out_group)
                values[i] = to_float(load_readonly(bias + tile.group * out_group + tile.channel + channel));
        }
    }
    __device__ __forceinline__ void put(float* target) const {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            if (problem::bias && number(i) < tile_channels) target[number(i)] = values[i];
        }
    }
    __device__ static __forceinline__ int number(int i) {
        return i * team_threads + static_cast<int>(threadIdx.x) % team_threads;
    }
};

/// What a team needs to store a tile.
struct Store {
    const Pipeline& pipeline;
    const Tile& tile;
    int team;
    float* shares;
    float* biases;
    Element* output;
    int windows;

    __device__ __forceinline__ Place place(int past) const {
        return Place(static_cast<int>(threadIdx.x) % team_threads, past, tile, team, output, windows);
    }
};

/// The outputs of a tile from its team's products, from channel First of the tile on; `first` is the thread's first
/// place.
template <int First>
__device__ __forceinline__ void store_channels(const float (&sums)[rows][product_n / 2], const Store& store,
                                               const Place& first, u32& parity) {
    constexpr int count = First + pass_channels <= tile_channels ? pass_channels : tile_channels - First;
    const int warpgroup = static_cast<int>(threadIdx.x) / k_warpgroup % team_warpgroups;
#pragma unroll
    for (int row = 0; row < rows; ++row)
        put_shares<First, count>(sums[row], store.shares, (warpgroup * rows + row) * k_product_rows);
    meet_team(store.pipeline, parity);
    if constexpr (one_place) {
        store_place<First, count>(store.shares, store.biases, store.tile, first);
    } else {
#pragma unroll 1
        for (int past = 0; past < team_units; past += unit_threads)
            store_place<First, count>(store.shares, store.biases, store.tile, store.place(past));
    }
    if constexpr (First + count < tile_channels) {
        meet_team(store.pipeline, parity);
        store_channels<First + count>(sums, store, first, parity);
    }
}

__device__ __forceinline__ void store_tile(const float (&sums)[rows][product_n / 2], const Tile& tile,
                                           const Biases& biases, const Pipeline& pipeline, u32& parity, Element* output,
                                           int windows) {
    const int team = static_cast<int>(threadIdx.x) / (team_warpgroups * k_warpgroup);
    const Store store{
        pipeline, tile,   team, pipeline.shares + team * share_floats, pipeline.biases + team * tile_channels,
        output,   windows};
    const Place first = store.place(0);
    // What other warps have still to read of the tile before.
    meet_team(pipeline, parity);
    biases.put(store.biases);
    store_channels<0>(sums, store, first, parity);
}

}  // namespace tconv::overlap_mma
