// Where the sums of split tiles meet: each split leaves its own in the workspace, and another launch adds them up.
#pragma once

#include "hopper_pack.cuh"

namespace tconv::hopper {

/// Where a thread's sums of product `product` of a split tile lie, behind the packed input: those of a warp in one
/// line.
__device__ __forceinline__ float* split_sums(unsigned char* workspace, int batch, int number, int product) {
    const i64 product_in_all = static_cast<i64>(number) * consumers * rows + product;
    const i64 input = packed_input ? batch * input_volume * packed_position : 0;
    return reinterpret_cast<float*>(workspace + input) + product_in_all * (k_product_rows * tile_n) +
           threadIdx.x % k_warpgroup * 4;
}

template <int N>
__device__ __forceinline__ void store_split(const float (&sums)[N], float* target) {
#pragma unroll
    for (int i = 0; i < N; i += 4)
        store<4>(target + i * k_warpgroup, Floats<4>{{sums[i], sums[i + 1], sums[i + 2], sums[i + 3]}});
}

__device__ __forceinline__ void add_split(float (&sums)[tile_n / 2], const float* source) {
#pragma unroll
    for (int i = 0; i < tile_n / 2; i += 4) {
        const Floats<4> part = load<4>(source + i * k_warpgroup);
#pragma unroll
        for (int j = 0; j < 4; ++j)
            sums[i + j] += part.v[j];
    }
}

}  // namespace tconv::hopper
