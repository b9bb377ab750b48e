// Plain copies from shared to device memory by the copy engine (compute capability 9.0), each instruction behind a
// function with a twin for the emulator.
#pragma once

#include "tconv.cuh"

namespace tconv {

#ifdef TCONV_EMULATOR

/// Makes what this thread wrote to shared memory visible to the copy engine: before a barrier after which some thread
/// starts the copy.
__device__ __forceinline__ void bulk_store_fence() {}

/// Starts a copy: addresses and `bytes` are multiples of 16. One thread.
__device__ __forceinline__ void bulk_store(void* global, const void* shared, u32 bytes, int line = __builtin_LINE()) {
    tconv_emulator::check_alignment(global, 16, "destination of a bulk copy", line);
    tconv_emulator::check_alignment(shared, 16, "source of a bulk copy", line);
    tconv_emulator::check_alignment(reinterpret_cast<const void*>(static_cast<u64>(bytes)), 16, "size of a bulk copy",
                                    line);
    __builtin_memcpy(global, shared, bytes);
}

/// Waits until the copies that this thread started have read their shared memory, which may then be overwritten or
/// left.
__device__ __forceinline__ void bulk_store_wait() {}

#elif __CUDA_ARCH__ >= 900

__device__ __forceinline__ void bulk_store_fence() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void bulk_store(void* global, const void* shared, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                 "r"(static_cast<u32>(__cvta_generic_to_shared(shared))), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ __forceinline__ void bulk_store_wait() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

#else

// Names for code that is compiled for older devices too, and discarded there.
__device__ void bulk_store_fence();
__device__ void bulk_store(void* global, const void* shared, u32 bytes);
__device__ void bulk_store_wait();

#endif

}  // namespace tconv
