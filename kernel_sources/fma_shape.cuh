// How the fma family makes products of the tensors' elements: a lane multiplies some positions by some columns in plain
// fp32 arithmetic.
#pragma once

#include "elements.cuh"

namespace tconv::product {

constexpr bool native = sizeof(Element) == 2;  // 16-bit elements lie in shared memory as they are, two in a word

constexpr bool tap_pairs = false;  // a step takes channels at one offset
constexpr bool warpgroups = false;
constexpr bool packs_input = false;
constexpr int product_phases = 1;

/// Words of one position, and their channels, that one step along K takes.
constexpr int step_words = config::step_words;
constexpr int step_channels = native ? 2 * step_words : step_words;

/// Positions of a lane that lie above each other serve all taps along the height.
constexpr bool reuse_rows = config::reuse_rows != 0;
/// Steps run inside the offsets along the height, so that addresses are worked out once for all of them.
constexpr bool steps_last = !reuse_rows;
/// What neighbouring positions of a lane read of a row, the window, serves all taps along the width, which run inside
/// the steps.
constexpr bool windows = config::reuse_columns != 0;
/// Columns of a row of the shared tile before its halo, the same for all tiles then.
constexpr int tile_lead = config::tile_lead;
/// Joined phases along the width are turned by so many outputs, so that positions begin where rows do.
constexpr int phase_turn = config::phase_turn;

// Lanes lie along positions x columns; the columns of a lane are taken in fragments of a few.
constexpr int column_lanes = config::column_lanes;
constexpr int row_lanes = 32 / column_lanes;
constexpr int lane_columns = config::lane_columns;
constexpr int fragment_rows = row_lanes;
constexpr int fragment_sums = lane_columns / config::n_fragments;
constexpr int fragment_columns = column_lanes * fragment_sums;
/// Neighbouring lanes read the same weights: four of a load of 16 bytes are then served at once, not two.
__device__ __forceinline__ int column_lane() {
    return static_cast<int>(threadIdx.x) / 2 % column_lanes;
}
__device__ __forceinline__ int fragment_row(int) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return lane / (2 * column_lanes) * 2 + lane % 2;
}
/// A lane has one row of a fragment; those of so many fragments lie side by side and come in one load.
constexpr int row_vector = config::row_vector;
constexpr bool row_pairs = false;
__device__ __forceinline__ int lane_row(int) {
    return fragment_row(0);
}
__device__ __forceinline__ int fragment_column(int i) {
    return column_lane() * fragment_sums + i;
}

/// Words of the packed weights of one step, tap and fragment of columns.
constexpr int fragment_words = step_channels * fragment_columns;

}  // namespace tconv::product
