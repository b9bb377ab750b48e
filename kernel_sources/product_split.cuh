// Blocks that share a tile's chunks of channels: each leaves its sums in the workspace, and a second launch adds them
// in a fixed order.
#pragma once

#include "product_shape.cuh"

namespace tconv::product {

constexpr int splits = config::splits;
constexpr int lane_sums = m_fragments * sum_phases * n_fragments * fragment_sums;

/// The thread's first sum of one split of a tile; the next ones lie `threads` further each.
__device__ __forceinline__ i64 partial_of(i64 tile, int split) {
    return (tile * splits + split) * (static_cast<i64>(lane_sums) * threads) + threadIdx.x;
}

__device__ __forceinline__ void put_partial(const Sums& sums, float* partials, i64 tile, int split) {
    float* target = partials + partial_of(tile, split);
    const float* values = &sums[0][0][0][0];
#pragma unroll
    for (int i = 0; i < lane_sums; ++i)
        target[static_cast<i64>(i) * threads] = values[i];
}

__device__ __forceinline__ void add_partials(Sums& sums, const float* partials, i64 tile) {
    float* values = &sums[0][0][0][0];
    for (int split = 0; split < splits; ++split) {
        const float* source = partials + partial_of(tile, split);
#pragma unroll
        for (int i = 0; i < lane_sums; ++i)
            values[i] += source[static_cast<i64>(i) * threads];
    }
}

}  // namespace tconv::product
