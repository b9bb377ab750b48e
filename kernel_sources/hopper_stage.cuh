// What both layouts' stores share: columns of the product go through shared memory chunk by chunk, biased and rounded.
#pragma once

#include "hopper_tile.cuh"
#include "row_store.cuh"

namespace tconv::hopper {

constexpr int element_bytes = static_cast<int>(sizeof(Element));
/// Shared memory for the outputs of one warpgroup.
constexpr int staging_bytes = config::staging_bytes;

/// Shared memory for the sums that the warps of a warpgroup have for one another, where taps are columns.
constexpr int seam_bytes = config::seam_bytes;

/// Columns that go through shared memory at a time.
constexpr int chunk_columns = config::chunk_columns;
static_assert(tile_n % chunk_columns == 0, "a tile has whole chunks");

__device__ __forceinline__ float bias_of(const float* bias, int channel) {
    return load_readonly(bias + channel);
}
template <class T>
__device__ __forceinline__ float bias_of(const T* bias, int channel) {
    return to_float(load_readonly(bias + channel));
}

/// The biases of columns `number`, which is even, and number + 1.
struct Pair {
    float v[2];
};
__device__ __forceinline__ Pair bias_pair(const Element* bias, const Tile& tile, int number) {
    Pair pair{{0, 0}};
    if constexpr (problem::bias) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if (i == 1 && !channels_last && part_slots % 2 == 0) {
                pair.v[1] = pair.v[0];  // two phases of one channel
            } else if (number + i < columns) {
                pair.v[i] = bias_of(bias, tile.group * out_group + column_at(number + i).channel);
            }
        }
    }
    return pair;
}

/// A sum and its bias, rounded once.
__device__ __forceinline__ Element biased(float sum, float bias) {
    return from_float<Element>(problem::bias ? sum + bias : sum);
}

}  // namespace tconv::hopper
