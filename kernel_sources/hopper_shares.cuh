// Taps along the width as columns: a product's rows are places of the input, and the columns of a step (a group) are
// the shares of those outputs that lie a constant distance before the place. Every output's shares meet in the thread
// that has the last step's, by shuffles; of the next warp's rows by way of shared memory.
//
//     kernel 3     outputs at p = last group at p + middle group at p + 1 + first group at p + 2
//
// The last places of a warpgroup lack some shares: there the next one's begin.
#pragma once

#include "hopper_pipeline.cuh"
#include "hopper_store.cuh"

namespace tconv::hopper {

constexpr int tap_groups = AxisW::max_taps;
/// Rows from an output to the share that group `group` has of it; at most eight.
__device__ constexpr int share_distance(int group) {
    return (tap_groups - 1 - group) * AxisW::offset_step;
}
static_assert(!tap_columns || AxisW::halo <= 8, "shares come from the next eight rows at most");

/// Rows of the seams before those of group `group`, of one warp and product: as many of each as the distance.
__device__ constexpr int seam_row(int group) {
    int row = 0;
    for (int i = 0; i < group; ++i)
        row += share_distance(i);
    return row;
}
constexpr int seam_rows = seam_row(tap_groups);
constexpr int warp_seams = seam_rows * tap_group;  // floats
constexpr int k_warps = k_warpgroup / 32;
static_assert(!tap_columns || rows * k_warps * warp_seams * 4 == seam_bytes, "the seams have room");

/// The first rows of each product's warps, for the warp before.
template <int N>
__device__ __forceinline__ void put_seams(const float (&sums)[rows][N], float* seams) {
    const int warp = threadIdx.x % k_warpgroup / 32;
    const int lane_row = threadIdx.x % 32 / 4;
    const int column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int row = 0; row < rows; ++row) {
        float* own = seams + (row * k_warps + warp) * warp_seams;
#pragma unroll
        for (int group = 0; group + 1 < tap_groups; ++group) {
            if (lane_row >= share_distance(group)) continue;
            float* target = own + (seam_row(group) + lane_row) * tap_group + column;
#pragma unroll
            for (int i = 0; i < group_columns(group); i += 8) {
                const float* eight = sums[row] + (group * tap_group + i) / 2;
                store<2>(target + i, Floats<2>{{eight[0], eight[1]}});
            }
        }
    }
}

/// Adds the shares of one group, of columns [column, column + 8) of which the thread has two, of rows r and r + 8.
__device__ __forceinline__ void add_eight(float* outputs, const float* shares, int distance, const float* seam) {
    const int lane = threadIdx.x % 32;
    const int source = (lane + 4 * distance) % 32;
    const bool same_eight = lane / 4 + distance < 8;
    Floats<2> next{};
    if (!same_eight) next = load<2>(seam);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float first = __shfl_sync(0xffffffffu, shares[i], source);
        const float second = __shfl_sync(0xffffffffu, shares[i + 2], source);
        outputs[i] += same_eight ? first : second;
        outputs[i + 2] += same_eight ? second : next.v[i];
    }
}

/// The sums of the outputs, by columns of the tile.
template <int N>
__device__ __forceinline__ void add_shares(float (&outputs)[rows][tile_n / 2], const float (&sums)[rows][N],
                                           float* seams) {
    const int warp = threadIdx.x % k_warpgroup / 32;
    const int lane_row = threadIdx.x % 32 / 4;
    const int column = threadIdx.x % 4 * 2;
    constexpr int last = group_columns(tap_groups - 1);
    put_seams(sums, seams);
    warpgroup_sync(threadIdx.x / k_warpgroup);
#pragma unroll
    for (int row = 0; row < rows; ++row) {
        // What the last warp of all finds instead of the next one's rows is not stored.
        const float* next = seams + min(row * k_warps + warp + 1, rows * k_warps - 1) * warp_seams;
#pragma unroll
        for (int i = 0; i < tile_n / 2; ++i) {
            // Behind the columns of a last group that has fewer lie others' in the rest.
            const bool exists = i / 4 * 8 + column + i % 2 < columns_of_step(tap_groups - 1);
            outputs[row][i] = i < last / 2 && exists ? sums[row][(tap_groups - 1) * tap_group / 2 + i] : 0;
        }
#pragma unroll
        for (int group = tap_groups - 2; group >= 0; --group) {
            const int distance = share_distance(group);
            const float* seam = next + (seam_row(group) + lane_row + distance - 8) * tap_group + column;
#pragma unroll
            for (int i = 0; i < group_columns(group); i += 8)
                add_eight(outputs[row] + i / 2, sums[row] + (group * tap_group + i) / 2, distance, seam + i);
        }
    }
    // The next tile's seams follow.
    warpgroup_sync(threadIdx.x / k_warpgroup);
}

template <int N>
__device__ __forceinline__ void store_shares(const float (&sums)[rows][N], const Tile& tile, const Pipeline& pipeline,
                                             const Element* bias, Element* output, int batch) {
    const int group = threadIdx.x / k_warpgroup;
    float outputs[rows][tile_n / 2];
    add_shares(outputs, sums, pipeline.seams + group * (seam_bytes / 4));
#pragma unroll
    for (int row = 0; row < rows; ++row)
        Store::run(outputs[row], tile, first_row(group * rows + row), pipeline.staging + group * staging_bytes, bias,
                   output, batch);
}

}  // namespace tconv::hopper
