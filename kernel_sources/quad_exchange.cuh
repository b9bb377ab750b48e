// Sums of groups of warps that have shared the channels of a tile meet in shared memory.
#pragma once

#include "quad_shape.cuh"

namespace tconv::quads {

/// Where the groups' sums meet. Quads of a lane, rows first, go round the groups: each is stored by one of them, and
/// the others give it their sums.
constexpr int lane_quads = quads_m * quads_n;
constexpr int kept_quads = (lane_quads + channel_groups - 1) / channel_groups;
constexpr int givers = channel_groups == 1 ? 1 : channel_groups - 1;
struct Exchange {
    Floats<k_quad> lines[lane_quads][givers][k_quad][group_threads];
};
using KeptSums = QuadSums<1, 1>[kept_quads];

/// Gives away the sums that other groups store.
template <int Group = 0>
__device__ __forceinline__ void give_sums(Exchange& to, const Sums& sums) {
    if constexpr (Group + 1 < channel_groups) {
        if (channel_group() != Group) return give_sums<Group + 1>(to, sums);
    }
#pragma unroll
    for (int quad = 0; quad < lane_quads; ++quad) {
        const int keeper = quad % channel_groups;
        if (keeper == Group) continue;
#pragma unroll
        for (int i = 0; i < k_quad; ++i) {
            Floats<k_quad> line;
#pragma unroll
            for (int j = 0; j < k_quad; ++j)
                line.v[j] = sums[quad % quads_m][i][quad / quads_m][j];
            store<k_quad>(to.lines[quad][Group < keeper ? Group : Group - 1][i][thread_of_group()].v, line);
        }
    }
}

/// Adds what the other groups gave, in their order.
template <int Group = 0>
__device__ __forceinline__ void take_sums(KeptSums& kept, const Exchange& from, const Sums& sums) {
    if constexpr (Group + 1 < channel_groups) {
        if (channel_group() != Group) return take_sums<Group + 1>(kept, from, sums);
    }
#pragma unroll
    for (int k = 0; k < kept_quads; ++k) {
        const int quad = k * channel_groups + Group;
        if (quad >= lane_quads) break;
#pragma unroll
        for (int i = 0; i < k_quad; ++i) {
            Floats<k_quad> lines[givers];
#pragma unroll
            for (int giver = 0; giver < givers; ++giver)
                lines[giver] = load<k_quad>(from.lines[quad][giver][i][thread_of_group()].v);
#pragma unroll
            for (int j = 0; j < k_quad; ++j) {
                float sum = sums[quad % quads_m][i][quad / quads_m][j];
#pragma unroll
                for (int giver = 0; giver < givers; ++giver)
                    sum += lines[giver].v[j];
                kept[k][0][i][0][j] = sum;
            }
        }
    }
}

/// Where the first of the lane's quads that are stored together begins in the tile; the others follow as in the tile.
struct QuadPlace {
    int row;
    int column;
    __device__ __forceinline__ int quad_row(int quad) const { return row + quad * lanes_m * k_quad; }
    __device__ __forceinline__ int quad_column(int quad) const { return column + quad * lanes_n * k_quad; }
};

/// Stores the sums of the tile noted, of which the other groups' are in `exchange`.
template <class Work>
__device__ __forceinline__ void store_sums(const Work& work, const Sums& sums, const Exchange& exchange) {
    if constexpr (channel_groups == 1) {
        work.store(sums, QuadPlace{quad_row(0), quad_column(0)});
    } else {
        KeptSums kept;
        take_sums(kept, exchange, sums);
#pragma unroll
        for (int k = 0; k < kept_quads; ++k) {
            const int quad = k * channel_groups + channel_group();
            if (quad >= lane_quads) break;
            work.store(kept[k], QuadPlace{quad_row(quad % quads_m), quad_column(quad / quads_m)});
        }
    }
}

}  // namespace tconv::quads
