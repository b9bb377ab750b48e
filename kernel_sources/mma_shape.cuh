// How the mma family makes products of the tensors' elements.
#pragma once

#include "elements.cuh"

namespace tconv::product {

constexpr bool native = config::math == 0;       // 16-bit elements as they are, two in a word
constexpr bool tf32_once = config::math == 1;    // rounded to TF32
constexpr bool tf32_thrice = config::math == 2;  // high and low TF32 parts, three products
constexpr bool bf16_thrice = config::math == 3;  // high and low bfloat16 parts, three products
constexpr bool split = tf32_thrice || bf16_thrice;

/// Two channels of 16 bits, channels first, are brought together in a word before the product reads them.
constexpr bool packs_input = config::pack_input != 0;

/// Products of four warps together (wgmma), instead of each one's own (mma.sync).
constexpr bool warpgroups = config::backend == 1;
/// Tapped phases whose columns lie side by side in a product.
constexpr int product_phases = config::product_phases;
/// Fragments of positions that a lane of a warpgroup holds: loaded ones, and those whose products still run.
constexpr int ring_fragments = config::ring_fragments;

/// Steps along K of 8 channels at two offsets (along depth and width) instead of 16 channels at one.
constexpr bool tap_pairs = config::tap_pairs != 0;
/// Words of one position that one step along K takes.
constexpr int step_words = bf16_thrice && !tap_pairs ? 16 : 8;
/// Steps run inside the offsets along the height.
constexpr bool steps_last = false;
constexpr bool windows = false;
constexpr int tile_lead = 0;
constexpr int phase_turn = 0;

/// The two rows of a fragment whose sums a lane has lie 8 apart, or side by side: then it reads and writes them
/// together.
constexpr bool row_pairs = config::row_pairs != 0;
constexpr int row_vector = 1;  // rows of fragments follow each other
__device__ __forceinline__ int lane_row(int half) {
    return threadIdx.x % 32 / 4 * (row_pairs ? 2 : 1) + half * (row_pairs ? 1 : 8);
}

// A fragment of sums: 16 positions x 8 columns, four of them in a lane.
constexpr int fragment_rows = 16;
constexpr int fragment_columns = 8;
constexpr int fragment_sums = 4;
__device__ __forceinline__ int fragment_row(int i) {
    return lane_row(i / 2);
}
__device__ __forceinline__ int fragment_column(int i) {
    return static_cast<int>(threadIdx.x) % 4 * 2 + i % 2;
}

/// Registers of a lane's fragment of weights: 16 (8) x 8 of them, split ones as high and low part.
constexpr int fragment_registers = split ? 4 : 2;
/// Words of the packed weights of one step, tap and fragment of columns.
constexpr int fragment_words = 32 * fragment_registers;

}  // namespace tconv::product
