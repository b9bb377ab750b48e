// Outputs of the overlap_mma family: their shares meet in shared memory, some channels at a time.
#pragma once

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

/// Units of a team's windows, and how its threads share them.
constexpr int team_units = team_windows * shares::window_units;
using Lanes = shares::Lanes<team_threads, team_units>;
constexpr int unit_threads = Lanes::units;
constexpr int channel_lanes = Lanes::channels;

/// A thread's unit of a tile, in the channels from number `lane` on.
struct Place {
    int lane;
    shares::Unit unit;
    shares::ShiftedRows<team_rows> at;
    Element* target;  // the unit's first output in the first of these channels

    __device__ __forceinline__ Place(int thread, int past, const Tile& tile, int team, Element* output, int windows)
        : lane(channel_lanes == 1 ? 0 : thread / unit_threads),
          unit(find_unit(thread - lane * unit_threads + past, tile, team, windows)),
          at(unit) {
        if (channel_lanes * unit_threads < team_threads && lane >= channel_lanes) unit.exists = false;
        target = shares::first_output(output, unit) +
                 static_cast<i64>(tile.group * out_group + tile.channel + lane) * shares::output_volume;
    }

private:
    __device__ __forceinline__ static shares::Unit find_unit(int number, const Tile& tile, int team, int windows) {
        shares::Unit unit = shares::find_unit(number, tile.window + team * team_windows, window_rows, windows);
        if (number >= team_units) unit.exists = false;
        return unit;
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
        shares::store_unit(shares + channel * taps * share_pitch, place.at, place.unit, bias,
                           place.target + (First + i) * shares::output_volume);
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
