// The products of a chunk of channels, by whichever instruction the config asks for.
#pragma once

#include "mma_sync.cuh"
#include "mma_warpgroup.cuh"

namespace tconv::product {

/// Weights that this thread has copied may be read by products behind the barrier that follows.
__device__ __forceinline__ void show_weights() {
    if constexpr (warpgroups) fence_async_proxy();
}

/// All products of the chunk whose input is in `stage`. Those of warpgroups may still run afterwards; `between` is
/// called once those of the chunk before are made, and now and then from there on.
template <class Between>
__device__ __forceinline__ void multiply_chunk(Sums& sums, const u32* stage, const u32* weights, Rows& rows,
                                               const Place& place, int warp_n, const Between& between) {
    if constexpr (warpgroups) {
        multiply_by_warpgroups(sums, stage, weights, rows, place, warp_n, between);
    } else {
        multiply_by_warps(sums, stage, weights, rows, place, warp_n);
    }
}

/// The sums are complete, and no stage is read any more.
__device__ __forceinline__ void finish_products(Sums& sums) {
    if constexpr (warpgroups) finish_warpgroup_products(sums);
}

}  // namespace tconv::product
