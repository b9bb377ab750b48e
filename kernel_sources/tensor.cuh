// Matrix products on the tensor cores, each instruction behind one function. Not for the emulator: kernels that use
// them are left out there, and wgmma exists for sm_90a alone.
#ifndef TCONV_TENSOR_CUH
#define TCONV_TENSOR_CUH

#include "warp_mma.cuh"

#ifndef TCONV_EMULATOR

namespace tconv {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Describes an operand in shared memory: rows of 128 bytes along K, swizzled by 128 bytes, eight rows in 1024 bytes.
/// The tile begins at a multiple of 1024 bytes; `offset` bytes (32 a step) move along K.
__device__ __forceinline__ u64 wgmma_operand(const void* tile, int offset) {
    const u64 address = static_cast<u64>(__cvta_generic_to_shared(tile)) + static_cast<u64>(offset);
    constexpr u64 swizzle_128 = 1ull << 62;
    constexpr u64 eight_rows = 1024 / 16;
    constexpr u64 unused_with_a_swizzle = 1;
    return swizzle_128 | eight_rows << 32 | unused_with_a_swizzle << 16 | (address & 0x3FFFF) >> 4;
}

/// Shared memory written by ordinary stores is seen by wgmma: in each writing thread, before the block's barrier.
__device__ __forceinline__ void fence_async_proxy() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Accumulators that ordinary instructions wrote may be used by the wgmma that follow.
__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Closes the group of the wgmma started so far.
__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most GROUPS of the most recent groups are pending.
template <int GROUPS>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
}

#define TCONV_128_REGISTERS                                                                        \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define TCONV_8_FLOATS(d, i)                                                                                    \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
        "+f"(d[i + 7])
#define TCONV_64_FLOATS(d, i)                                                                             \
    TCONV_8_FLOATS(d, i), TCONV_8_FLOATS(d, i + 8), TCONV_8_FLOATS(d, i + 16), TCONV_8_FLOATS(d, i + 24), \
        TCONV_8_FLOATS(d, i + 32), TCONV_8_FLOATS(d, i + 40), TCONV_8_FLOATS(d, i + 48), TCONV_8_FLOATS(d, i + 56)

/// Starts D += A * B of one warpgroup: 64 x K times K x 256, K = 32 bytes of T, both operands as wgmma_operand says.
template <class T>
__device__ __forceinline__ void wgmma_64x256(float (&d)[128], u64 a, u64 b);
template <>
__device__ __forceinline__ void wgmma_64x256<bf16>(float (&d)[128], u64 a, u64 b) {
    asm volatile(
        "{ .reg .pred add; setp.eq.u32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" TCONV_128_REGISTERS
        "}, %128, %129, add, 1, 1, 0, 0; }"
        : TCONV_64_FLOATS(d, 0), TCONV_64_FLOATS(d, 64)
        : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void wgmma_64x256<tf32>(float (&d)[128], u64 a, u64 b) {
    asm volatile(
        "{ .reg .pred add; setp.eq.u32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" TCONV_128_REGISTERS "}, %128, %129, add, 1, 1; }"
        : TCONV_64_FLOATS(d, 0), TCONV_64_FLOATS(d, 64)
        : "l"(a), "l"(b));
}

#undef TCONV_128_REGISTERS
#undef TCONV_8_FLOATS
#undef TCONV_64_FLOATS

#endif

}  // namespace tconv

#endif

#endif
