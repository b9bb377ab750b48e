// Warpgroups that begin one after another stay apart, so that one stores while the others multiply. What lies between
// the first and the last takes half of the stages.
#pragma once

#include "hopper_pipeline.cuh"

namespace tconv::hopper {

constexpr bool stagger = config::stagger != 0;

/// Steps of the first tile after which the next warpgroup begins, where the tile does not end before.
__device__ __forceinline__ int steps_ahead(const Tile& tile) {
    constexpr int ring = step_stages / 2;
    const int boxes = input_stages / 2 * (plane_boxes ? tile.taps() / steps_d(tile.taps_d) : tile.taps());
    const int stages = !reuse ? ring : resident ? boxes : min(ring, boxes);
    return max(stages / max(consumers - 1, 1), 1);
}

/// One step less before the next warpgroup begins; with 0 it has begun.
__device__ __forceinline__ void count_ahead(int& steps, const Pipeline& pipeline) {
    if (steps > 0 && --steps == 0 && threadIdx.x % k_warpgroup == 0)
        barrier_arrive(pipeline.ahead[threadIdx.x / k_warpgroup]);
}

}  // namespace tconv::hopper
