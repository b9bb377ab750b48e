// The order in which the blocks of the hopper family take tiles.
#pragma once

#include "hopper_shape.cuh"

namespace tconv::hopper {

// Where phases have different numbers of taps the first blocks would have the longest tiles of every wave. Then every
// other wave goes backwards; tiles of all phases in turn (tile_order 2) change phases as they are.
__device__ constexpr bool unlike_phases() {
    for (int phase_class = 1; phase_class < classes; ++phase_class) {
        const int phase_w = phase_class % AxisW::classes;
        const int phase_h = phase_class / AxisW::classes % AxisH::classes;
        const int phase_d = phase_class / AxisW::classes / AxisH::classes;
        if (AxisD::taps(phase_d).count * AxisH::taps(phase_h).count * AxisW::taps(phase_w).count !=
            AxisD::taps(0).count * AxisH::taps(0).count * AxisW::taps(0).count)
            return true;
    }
    return false;
}
constexpr bool waves_turn = config::tile_order != 2 && unlike_phases();

/// The tile that this block takes in wave `wave`; those of a cluster's blocks follow each other.
__device__ __forceinline__ int tile_in_wave(int wave) {
    const int all = gridDim.x;
    const int block = blockIdx.x;
    const int rank = block % cluster_blocks;
    const bool backwards = waves_turn && wave % 2 != 0;
    return wave * all + (backwards ? all - cluster_blocks - block + 2 * rank : block);
}

}  // namespace tconv::hopper
