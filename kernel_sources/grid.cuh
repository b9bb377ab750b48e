// For kernels that stride over their data, whatever their launch geometry, and for random values.
#ifndef TCONV_GRID_CUH
#define TCONV_GRID_CUH

#include "tconv.cuh"

namespace tconv {

__device__ __forceinline__ i64 thread_index() {
    return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ i64 thread_count() {
    return static_cast<i64>(gridDim.x) * blockDim.x;
}

/// Counter-based random bits: SplitMix64 (Steele, Lea, Flood 2014) of seed and index.
__device__ __forceinline__ u64 random_bits(u64 seed, u64 index) {
    u64 z = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

}  // namespace tconv

#endif
