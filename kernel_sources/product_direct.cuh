// Outputs straight from registers to the tensor: those of neighbouring positions and phases along the width that one
// lane holds are a run of a row. How a lane's sums lie is the family's own (mma_direct.cuh, fma_direct.cuh).
#pragma once

#include "product_store.cuh"

namespace tconv::product {

constexpr bool direct_store = config::direct_store != 0;

/// Outputs of a row that a lane holds side by side.
constexpr int lane_run = (row_pairs ? 2 : row_vector) * AxisW::block_phases;

__device__ constexpr bool divides_all(int vector) {
    const i64 first = AxisW::first_position(0) * AxisW::stride - AxisW::padding;
    return lane_run % vector == 0 && problem::output_w % vector == 0 && first % vector == 0;
}
/// Elements of one store: at most 16 bytes. Each is inside the output or outside as a whole.
__device__ constexpr int make_run_vector() {
    int vector = 16 / static_cast<int>(sizeof(Element));
    while (!divides_all(vector))
        vector /= 2;
    return vector;
}
constexpr int run_vector = make_run_vector();

/// The sum of a phase (its number along each axis), 0 where it has no tap.
__device__ __forceinline__ float sum_at(const Sums& sums, int m, int n, int i, int d, int h, int w) {
    if (AxisD::tapped_index(d) < 0 || AxisH::tapped_index(h) < 0 || AxisW::tapped_index(w) < 0) return 0.0f;
    const int phase =
        (AxisD::tapped_index(d) * AxisH::tapped + AxisH::tapped_index(h)) * AxisW::tapped + AxisW::tapped_index(w);
    return sums[m][phase][n][i];
}

}  // namespace tconv::product
