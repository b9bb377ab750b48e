// The order in which the blocks of the hopper family take tiles: every so many each; or, where phases have unlike
// numbers of taps, so that all are done at about the same time.
#pragma once

#include "hopper_tile.cuh"
#include "tma.cuh"

namespace tconv::hopper {

__device__ constexpr int taps_of(int phase_class) {
    const int phase_w = phase_class % AxisW::classes;
    const int phase_h = phase_class / AxisW::classes % AxisH::classes;
    const int phase_d = phase_class / AxisW::classes / AxisH::classes;
    return AxisD::taps(phase_d).count * AxisH::taps(phase_h).count * AxisW::taps(phase_w).count;
}
__device__ constexpr bool unlike_phases() {
    for (int phase_class = 1; phase_class < classes; ++phase_class) {
        if (taps_of(phase_class) != taps_of(0)) return true;
    }
    return false;
}
/// Tiles of all phases in turn (tile_order 2) are mixed as they are.
constexpr bool unlike_tiles = config::tile_order != 2 && unlike_phases();
/// The warp that would make a plan may have the input to pack.
constexpr bool planned_tiles = unlike_tiles && !block_pack;

/// Tiles that a plan has room for.
constexpr int k_most_planned = 32;
/// Classes of phases for which a plan is made.
constexpr int k_most_classes = 16;
/// About what the store of a tile and its beginning take, in steps.
constexpr int k_store_steps = 4;
__device__ __forceinline__ int tile_length(int phase_class) {
    return taps_of(phase_class) * channel_blocks / splits + k_store_steps;
}

/// The tiles of a cluster's blocks, wave by wave: numbers of the first block's, divided by the blocks of a cluster.
struct Plan {
    int tiles[k_most_planned];  // [0]: whether there are any, since the first wave is as ever
};

/// Clusters from `first` on, to those of the next span, with what they have to do so far.
struct Span {
    int first, load;
};

/// Whether no cluster gets more tiles than a plan has room for. None that has its part of the work gets another one.
__device__ __forceinline__ bool plan_suffices(int clusters, int batch) {
    if constexpr (classes > k_most_classes) return false;
    Tile tile{};
    i64 all = 0;
    int least = tile_length(0);
#pragma unroll 1
    for (int phase_class = 0; phase_class < classes; ++phase_class) {
        set_phases(tile, phase_class);
        const int length = tile_length(phase_class);
        all += static_cast<i64>(places_of(pieces_of(tile, batch).all())) * splits * length;
        least = min(least, length);
    }
    return all < static_cast<i64>(k_most_planned - 4) * clusters * least;
}

/// Gives tiles, one after another, to the clusters that have least to do, and notes those of this block's. One thread.
__device__ __forceinline__ void plan_tiles(Plan& plan, int batch) {
    const int clusters = gridDim.x / cluster_blocks;
    const int own = blockIdx.x / cluster_blocks;
    plan.tiles[0] = plan_suffices(clusters, batch);
    if (plan.tiles[0] == 0) return;
    Span spans[(classes < k_most_classes ? classes : k_most_classes) + 1];
    spans[0] = {0, 0};
    int count = 1;
    int wave = 0;
    int number = 0;
    Tile tile{};
#pragma unroll 1
    for (int phase_class = 0; phase_class < classes; ++phase_class) {
        set_phases(tile, phase_class);
        int left = places_of(pieces_of(tile, batch).all()) * splits;
#pragma unroll 1
        while (left > 0) {
            int least = 0;
#pragma unroll 1
            for (int i = 1; i < count; ++i)
                least = spans[i].load < spans[least].load ? i : least;
            const Span span = spans[least];
            const int size = (least + 1 < count ? spans[least + 1].first : clusters) - span.first;
            const int taken = min(left, size);
            if (own >= span.first && own < span.first + taken) {
                if (wave > 0) plan.tiles[wave] = number + own - span.first;
                ++wave;
            }
            spans[least].load += tile_length(phase_class);
            if (taken < size) {
#pragma unroll 1
                for (int i = count; i > least + 1; --i)
                    spans[i] = spans[i - 1];
                spans[least + 1] = {span.first + taken, span.load};
                ++count;
            }
            number += taken;
            left -= taken;
        }
    }
    plan.tiles[max(wave, 1)] = number;
}

/// The tile that this block takes in wave `wave`; those of a cluster's blocks follow each other. Without a plan for
/// unlike tiles every other wave goes backwards, since the first of a wave are the longest.
__device__ __forceinline__ int tile_in_wave(int wave, const Plan* plan, Barrier* planned) {
    const int all = gridDim.x;
    const int block = blockIdx.x;
    if (!unlike_tiles || wave == 0) return wave * all + block;
    const int rank = block % cluster_blocks;
    if constexpr (planned_tiles) {
        barrier_wait(*planned, 0);
        if (plan->tiles[0] != 0) return plan->tiles[wave] * cluster_blocks + rank;
    }
    return wave * all + (wave % 2 != 0 ? all - cluster_blocks - block + 2 * rank : block);
}

}  // namespace tconv::hopper
