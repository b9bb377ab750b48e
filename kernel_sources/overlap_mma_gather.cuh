// Outputs of the overlap_mma and the overlap_mma32 family: their shares meet in shared memory, some channels at a time.
#pragma once

#include "overlap_mma_shape.cuh"
#include "tma.cuh"

namespace tconv::overlap_mma {

constexpr int share_pitch = shares::pitch(share_rows);
constexpr int zero_row = share_rows;
constexpr int bias_floats = (teams * tile_channels + 1) / 2 * 2;
constexpr int share_floats = pass_channels * taps * share_pitch;

/// Shared memory of the gathering threads.
struct Gather {
    float* shares;  // of each team
    float* biases;  // of each team's tile
    Barrier* met;   // all warps of the team are there
};

/// By all threads: shares outside the image, which nothing writes later.
__device__ __forceinline__ void clear_zero_rows(const Gather& gather) {
    for (int column = threadIdx.x; column < teams * pass_channels * taps; column += threads)
        gather.shares[column * share_pitch + zero_row] = 0;
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
    shares::ShiftedRows<share_rows> at;
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
__device__ __forceinline__ void meet_team(const Gather& gather, u32& parity) {
    if constexpr (team_warpgroups == 1) {
        warpgroup_sync(threadIdx.x / k_warpgroup);
    } else {
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(*gather.met);
        barrier_wait_together(*gather.met, parity);
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
    const Gather& gather;
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
/// place. Put::put_shares<First, Count> writes the thread's products of channels [First, First + Count).
template <class Put, int First>
__device__ __forceinline__ void store_channels(const float (&sums)[rows][product_n / 2], const Store& store,
                                               const Place& first, u32& parity) {
    constexpr int count = First + pass_channels <= tile_channels ? pass_channels : tile_channels - First;
    const int warpgroup = static_cast<int>(threadIdx.x) / k_warpgroup % team_warpgroups;
#pragma unroll
    for (int row = 0; row < rows; ++row)
        Put::template put_shares<First, count>(sums[row], store.shares, (warpgroup * rows + row) * k_product_rows);
    meet_team(store.gather, parity);
    if constexpr (one_place) {
        store_place<First, count>(store.shares, store.biases, store.tile, first);
    } else {
#pragma unroll 1
        for (int past = 0; past < team_units; past += unit_threads)
            store_place<First, count>(store.shares, store.biases, store.tile, store.place(past));
    }
    if constexpr (First + count < tile_channels) {
        meet_team(store.gather, parity);
        store_channels<Put, First + count>(sums, store, first, parity);
    }
}

template <class Put>
__device__ __forceinline__ void store_tile(const float (&sums)[rows][product_n / 2], const Tile& tile,
                                           const Biases& biases, const Gather& gather, u32& parity, Element* output,
                                           int windows) {
    const int team = static_cast<int>(threadIdx.x) / (team_warpgroups * k_warpgroup);
    const Store store{gather, tile,   team, gather.shares + team * share_floats, gather.biases + team * tile_channels,
                      output, windows};
    const Place first = store.place(0);
    // What other warps have still to read of the tile before.
    meet_team(gather, parity);
    biases.put(store.biases);
    store_channels<Put, 0>(sums, store, first, parity);
}

}  // namespace tconv::overlap_mma
