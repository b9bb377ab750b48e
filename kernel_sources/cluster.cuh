// What the blocks of a cluster do for each other (compute capability 9.0): copies by the copy engine that arrive in the
// shared memory of several blocks, and barriers there. Each function has a twin for the emulator.
//
// Shared memory of a block may be used by others from the first cluster_sync, which comes after barrier_init_fence and
// in place of a __syncthreads, to the last one, before which no block has ended.
#ifndef TCONV_CLUSTER_CUH
#define TCONV_CLUSTER_CUH

#include "tma.cuh"

namespace tconv {

#ifdef TCONV_EMULATOR

/// Waits for every thread of every block of the cluster.
__device__ __forceinline__ void cluster_sync(int line = __builtin_LINE()) {
    tconv_emulator::meet_cluster(line);
}

/// One arrival at the barrier that block `rank` of the cluster has where this one has `barrier`. It says that this
/// thread is done with shared memory that copies then fill anew; it does not show what the thread has written: a
/// release of that much to a cluster waits for the thread's stores to device memory too.
__device__ __forceinline__ void barrier_arrive_in_cluster(Barrier& barrier, u32 rank, int line = __builtin_LINE()) {
    tconv_emulator::arrive_in_cluster(&barrier, rank, line);
}

/// As tma_load_box, to every block of the cluster whose bit is set in `blocks`: each gets the box where this one has
/// `shared`, and its barrier at the place of `barrier` counts the bytes. One thread of one block.
template <int N>
__device__ __forceinline__ void tma_load_box_to(u16 blocks, void* shared, const TensorMap& map, Barrier& barrier,
                                                const int (&corner)[N], int line = __builtin_LINE()) {
    static_assert(N >= 1 && N <= 5, "a tensor map has 1 to 5 dimensions");
    tconv_emulator::load_box(shared, &map, corner, N, &barrier, blocks, line);
}

/// As tma_load_bytes, likewise.
__device__ __forceinline__ void tma_load_bytes_to(u16 blocks, void* shared, const void* global, u32 bytes,
                                                  Barrier& barrier, int line = __builtin_LINE()) {
    tconv_emulator::load_bytes(shared, global, bytes, &barrier, blocks, line);
}

#elif __CUDA_ARCH__ >= 900

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive_in_cluster(Barrier& barrier, u32 rank) {
    asm volatile(
        "{ .reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(tma::shared_address(&barrier)),
        "r"(rank)
        : "memory");
}

#define TCONV_TMA_LOAD(dimensions, coordinates)                                                       \
    "cp.async.bulk.tensor." dimensions                                                                \
    ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, " coordinates \
    "], [%2], %3;" ::"r"(tma::shared_address(shared)),                                                \
        "l"(&map), "r"(tma::shared_address(&barrier)), "h"(blocks)

template <int N>
__device__ __forceinline__ void tma_load_box_to(u16 blocks, void* shared, const TensorMap& map, Barrier& barrier,
                                                const int (&c)[N]) {
    static_assert(N >= 1 && N <= 5, "a tensor map has 1 to 5 dimensions");
    if constexpr (N == 1) {
        asm volatile(TCONV_TMA_LOAD("1d", "{%4}"), "r"(c[0]) : "memory");
    } else if constexpr (N == 2) {
        asm volatile(TCONV_TMA_LOAD("2d", "{%4, %5}"), "r"(c[0]), "r"(c[1]) : "memory");
    } else if constexpr (N == 3) {
        asm volatile(TCONV_TMA_LOAD("3d", "{%4, %5, %6}"), "r"(c[0]), "r"(c[1]), "r"(c[2]) : "memory");
    } else if constexpr (N == 4) {
        asm volatile(TCONV_TMA_LOAD("4d", "{%4, %5, %6, %7}"), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]) : "memory");
    } else {
        asm volatile(TCONV_TMA_LOAD("5d", "{%4, %5, %6, %7, %8}"), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4])
                     : "memory");
    }
}

#undef TCONV_TMA_LOAD

__device__ __forceinline__ void tma_load_bytes_to(u16 blocks, void* shared, const void* global, u32 bytes,
                                                  Barrier& barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
        "%4;" ::"r"(tma::shared_address(shared)),
        "l"(global), "r"(bytes), "r"(tma::shared_address(&barrier)), "h"(blocks)
        : "memory");
}

#else

// Names for code that is compiled for older devices too, and discarded there.
__device__ void cluster_sync();
__device__ void barrier_arrive_in_cluster(Barrier& barrier, u32 rank);
template <int N>
__device__ void tma_load_box_to(u16 blocks, void* shared, const TensorMap& map, Barrier& barrier,
                                const int (&corner)[N]);
__device__ void tma_load_bytes_to(u16 blocks, void* shared, const void* global, u32 bytes, Barrier& barrier);

#endif

}  // namespace tconv

#endif
