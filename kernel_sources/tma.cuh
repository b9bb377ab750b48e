// Copies that the hardware makes on its own (compute capability 9.0: TMA), and the barriers in shared memory that count
// them. One thread starts a copy; whoever waits for the barrier's phase sees the bytes. Each function has a twin for
// the emulator, where bytes arrive when they are waited for and no sooner.
//
// A barrier's phases have the parities 0, 1, 0, ... A fresh barrier is in its first phase: barrier_wait(b, 0) waits for
// that one, barrier_wait(b, 1) returns at once, as if a phase before had been complete. A phase is complete when all
// arrivals and all expected bytes are there; expect them no later than with the last arrival.
#ifndef TCONV_TMA_CUH
#define TCONV_TMA_CUH

#include "tconv.cuh"

namespace tconv {

/// What an argument {tensor_map: ...} of a launch is: `const __grid_constant__ TensorMap map`. Opaque; aligned as CUDA
/// 13 has it (12 asks for half of that).
struct alignas(128) TensorMap {
    u64 words[16];
};

/// In shared memory; 8 bytes.
struct alignas(8) Barrier {
    u64 word;
};

/// Where the byte `offset` of a box that begins at a multiple of 1024 stands after a swizzle of SWIZZLE bytes (0, 32,
/// 64 or 128). Pieces of 16 bytes stay together.
template <int SWIZZLE>
__device__ __forceinline__ u32 swizzled(u32 offset) {
    static_assert(SWIZZLE == 0 || SWIZZLE == 32 || SWIZZLE == 64 || SWIZZLE == 128, "a swizzle of the hardware");
    if constexpr (SWIZZLE == 0) {
        return offset;
    } else {
        return offset ^ ((offset >> 7 & (SWIZZLE / 16 - 1)) << 4);
    }
}

/// A place in a ring, and the parity of its barriers' current phase.
template <int Count>
struct Turn {
    int stage = 0;
    u32 parity = 0;
    /// Even as often as odd.
    __device__ __forceinline__ u32 number() const { return stage + parity; }
    __device__ __forceinline__ void advance() {
        if (++stage < Count) return;
        stage = 0;
        parity ^= 1;
    }
};

#ifdef TCONV_EMULATOR

/// Makes a barrier whose phases take `arrivals` arrivals (1 to 2^20 - 1). One thread; the others use it after
/// barrier_init_fence by that thread and a __syncthreads.
__device__ __forceinline__ void barrier_init(Barrier& barrier, u32 arrivals, int line = __builtin_LINE()) {
    tconv_emulator::barrier_init(&barrier, arrivals, line);
}

/// Makes initialised barriers known to the copy engine.
__device__ __forceinline__ void barrier_init_fence() {}

/// One arrival.
__device__ __forceinline__ void barrier_arrive(Barrier& barrier, int line = __builtin_LINE()) {
    tconv_emulator::barrier_arrive(&barrier, 1, 0, line);
}

/// The current phase expects `bytes` more, and one arrival: what the thread that starts copies does before them.
__device__ __forceinline__ void barrier_arrive_and_expect(Barrier& barrier, u32 bytes, int line = __builtin_LINE()) {
    tconv_emulator::barrier_arrive(&barrier, 1, bytes, line);
}

/// The current phase expects `bytes` more, without an arrival.
__device__ __forceinline__ void barrier_expect(Barrier& barrier, u32 bytes, int line = __builtin_LINE()) {
    tconv_emulator::barrier_arrive(&barrier, 0, bytes, line);
}

/// Whether the phase of this parity is complete; may let some time pass first. For a thread that has other work: who
/// has none calls barrier_wait.
__device__ __forceinline__ bool barrier_try_wait(Barrier& barrier, u32 parity, int line = __builtin_LINE()) {
    return tconv_emulator::barrier_wait(&barrier, parity, false, line);
}

/// Returns once the phase of this parity is complete; its bytes are there.
__device__ __forceinline__ void barrier_wait(Barrier& barrier, u32 parity, int line = __builtin_LINE()) {
    static_cast<void>(tconv_emulator::barrier_wait(&barrier, parity, true, line));
}

/// The same for a whole warp that goes on with instructions of all lanes together: each lane may learn of the phase's
/// end at another time, and products of a warp ask that none is ahead.
__device__ __forceinline__ void barrier_wait_together(Barrier& barrier, u32 parity, int line = __builtin_LINE()) {
    barrier_wait(barrier, parity, line);
    __syncwarp();
}

/// Whether the phase of this parity is complete for a whole warp; waits for nothing else.
__device__ __forceinline__ bool barrier_test_together(Barrier& barrier, u32 parity, int line = __builtin_LINE()) {
    return __all_sync(0xffffffffu, tconv_emulator::barrier_wait(&barrier, parity, false, line), line) != 0;
}

/// A whole warp gives shared memory that it has read by plain loads back to the copy engine: its reads come before the
/// engine's next writes there, which neither an arrival nor what the loaded values are used for sees to (PTX ISA,
/// "Async proxy"). One arrival.
__device__ __forceinline__ void barrier_arrive_after_reads(Barrier& barrier, int line = __builtin_LINE()) {
    __syncwarp();
    if (tconv_emulator::lane() == 0) barrier_arrive(barrier, line);
}

/// Starts the copy of `map`'s box whose first element is `corner`, {x, y, ...} innermost first: as many coordinates as
/// the map has dimensions, 1 to 5. They may be negative or beyond the end: what lies outside the array arrives as
/// zeros. The first is a multiple of 16 bytes. `shared` is a multiple of 128, better of 1024 (see swizzled). `barrier`
/// counts the bytes of the whole box. One thread.
template <int N>
__device__ __forceinline__ void tma_load_box(void* shared, const TensorMap& map, Barrier& barrier,
                                             const int (&corner)[N], int line = __builtin_LINE()) {
    static_assert(N >= 1 && N <= 5, "a tensor map has 1 to 5 dimensions");
    tconv_emulator::load_box(shared, &map, corner, N, &barrier, 0, line);
}

/// Starts a plain copy: addresses and `bytes` are multiples of 16. `barrier` counts the bytes. One thread.
__device__ __forceinline__ void tma_load_bytes(void* shared, const void* global, u32 bytes, Barrier& barrier,
                                               int line = __builtin_LINE()) {
    tconv_emulator::load_bytes(shared, global, bytes, &barrier, 0, line);
}

/// Brings the map itself near, some time before its first use.
__device__ __forceinline__ void tma_prefetch_map(const TensorMap&) {}

#elif __CUDA_ARCH__ >= 900

namespace tma {
__device__ __forceinline__ u32 shared_address(const void* address) {
    return static_cast<u32>(__cvta_generic_to_shared(address));
}
}  // namespace tma

__device__ __forceinline__ void barrier_init(Barrier& barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(tma::shared_address(&barrier)), "r"(arrivals)
                 : "memory");
}

__device__ __forceinline__ void barrier_init_fence() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(Barrier& barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(tma::shared_address(&barrier)) : "memory");
}

__device__ __forceinline__ void barrier_arrive_after_reads(Barrier& barrier) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(barrier);
}

__device__ __forceinline__ void barrier_arrive_and_expect(Barrier& barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(tma::shared_address(&barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_expect(Barrier& barrier, u32 bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(tma::shared_address(&barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ bool barrier_try_wait(Barrier& barrier, u32 parity) {
    u32 complete;
    asm volatile(
        "{ .reg .pred complete;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
        "selp.u32 %0, 1, 0, complete; }"
        : "=r"(complete)
        : "r"(tma::shared_address(&barrier)), "r"(parity)
        : "memory");
    return complete != 0;
}

__device__ __forceinline__ void barrier_wait(Barrier& barrier, u32 parity) {
    while (!barrier_try_wait(barrier, parity)) {
    }
}

__device__ __forceinline__ void barrier_wait_together(Barrier& barrier, u32 parity) {
    barrier_wait(barrier, parity);
    __syncwarp();
}

__device__ __forceinline__ bool barrier_test_together(Barrier& barrier, u32 parity) {
    u32 complete;
    asm volatile(
        "{ .reg .pred complete;\n"
        "mbarrier.test_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
        "selp.u32 %0, 1, 0, complete; }"
        : "=r"(complete)
        : "r"(tma::shared_address(&barrier)), "r"(parity)
        : "memory");
    return __all_sync(0xffffffffu, complete) != 0;
}

#define TCONV_TMA_LOAD(dimensions, coordinates)                                                                       \
    "cp.async.bulk.tensor." dimensions ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, " coordinates \
    "], [%2];" ::"r"(tma::shared_address(shared)),                                                                    \
        "l"(&map), "r"(tma::shared_address(&barrier))

template <int N>
__device__ __forceinline__ void tma_load_box(void* shared, const TensorMap& map, Barrier& barrier, const int (&c)[N]) {
    static_assert(N >= 1 && N <= 5, "a tensor map has 1 to 5 dimensions");
    if constexpr (N == 1) {
        asm volatile(TCONV_TMA_LOAD("1d", "{%3}"), "r"(c[0]) : "memory");
    } else if constexpr (N == 2) {
        asm volatile(TCONV_TMA_LOAD("2d", "{%3, %4}"), "r"(c[0]), "r"(c[1]) : "memory");
    } else if constexpr (N == 3) {
        asm volatile(TCONV_TMA_LOAD("3d", "{%3, %4, %5}"), "r"(c[0]), "r"(c[1]), "r"(c[2]) : "memory");
    } else if constexpr (N == 4) {
        asm volatile(TCONV_TMA_LOAD("4d", "{%3, %4, %5, %6}"), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]) : "memory");
    } else {
        asm volatile(TCONV_TMA_LOAD("5d", "{%3, %4, %5, %6, %7}"), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4])
                     : "memory");
    }
}

#undef TCONV_TMA_LOAD

__device__ __forceinline__ void tma_load_bytes(void* shared, const void* global, u32 bytes, Barrier& barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     tma::shared_address(shared)),
                 "l"(global), "r"(bytes), "r"(tma::shared_address(&barrier))
                 : "memory");
}

__device__ __forceinline__ void tma_prefetch_map(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

#else

// Names for code that is compiled for older devices too, and discarded there.
__device__ void barrier_init(Barrier& barrier, u32 arrivals);
__device__ void barrier_init_fence();
__device__ void barrier_arrive(Barrier& barrier);
__device__ void barrier_arrive_after_reads(Barrier& barrier);
__device__ void barrier_arrive_and_expect(Barrier& barrier, u32 bytes);
__device__ void barrier_wait(Barrier& barrier, u32 parity);
__device__ void barrier_wait_together(Barrier& barrier, u32 parity);
__device__ bool barrier_test_together(Barrier& barrier, u32 parity);
template <int N>
__device__ void tma_load_box(void* shared, const TensorMap& map, Barrier& barrier, const int (&corner)[N]);
__device__ void tma_load_bytes(void* shared, const void* global, u32 bytes, Barrier& barrier);
__device__ void tma_prefetch_map(const TensorMap& map);

#endif

}  // namespace tconv

#endif
