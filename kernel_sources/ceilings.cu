// What a card can do at best: a copy, multiply-adds, an empty launch, and matrix products on the tensor cores. A
// layer's limit is worked out from these rates.
#include "grid.cuh"
#include "tconv.cuh"
#include "wgmma.cuh"

/// Copies `count` vectors of four floats: the card's copy bandwidth.
extern "C" __global__ void tconv_copy(const float* source, float* target, tconv::i64 count) {
    using namespace tconv;
    const i64 step = thread_count();
    i64 i = thread_index();
    for (; i + 3 * step < count; i += 4 * step) {
        Floats<4> part[4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
            part[j] = load<4>(source + 4 * (i + j * step));
#pragma unroll
        for (int j = 0; j < 4; ++j)
            store<4>(target + 4 * (i + j * step), part[j]);
    }
    for (; i < count; i += step)
        store<4>(target + 4 * i, load<4>(source + 4 * i));
}

/// 8 independent chains of `rounds` x 16 multiply-adds a thread: the card's fp32 rate.
extern "C" __global__ void tconv_multiply_add(float* sink, int rounds, float factor) {
    using namespace tconv;
    float sums[8];
#pragma unroll
    for (int j = 0; j < 8; ++j)
        sums[j] = static_cast<float>(threadIdx.x + j);
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int step = 0; step < 16; ++step) {
#pragma unroll
            for (int j = 0; j < 8; ++j)
                sums[j] = fmaf(sums[j], factor, 1.0f);
        }
    }
    float total = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j)
        total += sums[j];
    if (total == -1.0f) sink[thread_index()] = total;
}

/// Does nothing: the time of a launch.
extern "C" __global__ void tconv_empty(int) {}

#ifndef TCONV_EMULATOR

namespace tconv::ceilings {

// A warp's work in one round is the same on every architecture: 512 products of 16 x 8 x 32 bytes. The host
// counts by it.
[[maybe_unused]] constexpr int k_products = 512;
constexpr int k_threads = 256;

/// About a standard normal: products of such numbers cost the power that real data costs; zeros would run faster.
__device__ __forceinline__ float random_value(u64 index) {
    const u64 bits = random_bits(1, index);
    constexpr int mean = 2 * 65535;
    constexpr float scale = 1.7320508f / 65536.0f;  // four uniform 16-bit numbers deviate by 65536 / sqrt(3)
    const int sum = static_cast<int>((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48));
    return static_cast<float>(sum - mean) * scale;
}

/// Four bytes of random operands: one TF32 or two bf16.
template <class T>
__device__ __forceinline__ u32 random_word(u64 index);
template <>
__device__ __forceinline__ u32 random_word<tf32>(u64 index) {
    return __float_as_uint(random_value(index));
}
template <>
__device__ __forceinline__ u32 random_word<bf16>(u64 index) {
    return __float_as_uint(random_value(2 * index)) >> 16 |
           (__float_as_uint(random_value(2 * index + 1)) & 0xFFFF0000u);
}

template <int N>
__device__ __forceinline__ void keep(const float (&sums)[N], float* sink) {
    float total = 0;
#pragma unroll
    for (int i = 0; i < N; ++i)
        total += sums[i];
    if (total == -1.0f) sink[thread_index()] = total;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Two warpgroups, so that the tensor cores have the one's products while the other waits for its own.
template <class T>
__device__ __forceinline__ void multiply_matrices(float* sink, int rounds) {
    constexpr int row_bytes = 128;
    constexpr int a_bytes = 64 * row_bytes;
    constexpr int b_bytes = 256 * row_bytes;
    constexpr int steps = k_products * 4 * 16 * 8 / (64 * 256);  // a warpgroup is four warps
    __shared__ alignas(1024) u32 tiles[(2 * a_bytes + b_bytes) / 4];
    for (int i = threadIdx.x; i < static_cast<int>(sizeof tiles / 4); i += k_threads)
        tiles[i] = random_word<T>(i);
    fence_async_proxy();
    __syncthreads();

    const u32* a = tiles + threadIdx.x / 128 * (a_bytes / 4);
    const u32* b = tiles + 2 * a_bytes / 4;
    float sums[128];
#pragma unroll
    for (int i = 0; i < 128; ++i)
        sums[i] = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < steps; ++step)
            wgmma_start<T, 256>(sums, wgmma_operand(a, 32 * step % row_bytes, 8 * row_bytes),
                                wgmma_operand(b, 32 * step % row_bytes, 8 * row_bytes), true);
        wgmma_commit();
        wgmma_wait<0>();
    }
    keep(sums, sink);
}

#elif __CUDA_ARCH__ >= 800

/// Eight accumulators a warp, each product independent of the seven before it.
template <class T>
__device__ __forceinline__ void multiply_matrices(float* sink, int rounds) {
    constexpr int k_rows = 2;
    constexpr int k_columns = 4;
    u32 a[k_rows][4];
    u32 b[k_columns][2];
#pragma unroll
    for (int row = 0; row < k_rows; ++row)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            a[row][i] = random_word<T>(static_cast<u64>(threadIdx.x) * 16 + 4 * row + i);
#pragma unroll
    for (int column = 0; column < k_columns; ++column)
#pragma unroll
        for (int i = 0; i < 2; ++i)
            b[column][i] = random_word<T>(static_cast<u64>(threadIdx.x) * 16 + 8 + 2 * column + i);
    float sums[k_rows * k_columns][4] = {};
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 2
        for (int step = 0; step < k_products / (k_rows * k_columns); ++step) {
#pragma unroll
            for (int row = 0; row < k_rows; ++row)
#pragma unroll
                for (int column = 0; column < k_columns; ++column)
                    mma_16x8<T>(sums[row * k_columns + column], a[row], b[column]);
        }
    }
#pragma unroll
    for (int i = 0; i < k_rows * k_columns; ++i)
        keep(sums[i], sink);
}

#else

template <class T>
__device__ __forceinline__ void multiply_matrices(float*, int) {}

#endif

}  // namespace tconv::ceilings

extern "C" __global__ void __launch_bounds__(tconv::ceilings::k_threads)
    tconv_multiply_matrices_bf16(float* sink, int rounds) {
    tconv::ceilings::multiply_matrices<tconv::bf16>(sink, rounds);
}
extern "C" __global__ void __launch_bounds__(tconv::ceilings::k_threads)
    tconv_multiply_matrices_tf32(float* sink, int rounds) {
    tconv::ceilings::multiply_matrices<tconv::tf32>(sink, rounds);
}

#endif
