// Matrix products of a warpgroup (wgmma.cuh) whose A comes from registers: each warp brings 16 of the 64 rows as it
// would to mma_16x8, and B lies in shared memory for all of them.
//
// B is K-major and swizzled as in wgmma.cuh (wgmma_start). Or it is not swizzled (wgmma_add): for every eight columns
// two blocks of 128 bytes behind each other, the first and the second 16 bytes along K of eight columns.
#ifndef TCONV_WGMMA_REGISTERS_CUH
#define TCONV_WGMMA_REGISTERS_CUH

#include "wgmma.cuh"

namespace tconv {

/// Bytes of eight columns of B in one product.
constexpr int k_plain_eight = 8 * k_operand_step;

#ifdef TCONV_EMULATOR

/// Where a plain B begins in shared memory.
using PlainOperand = u64;
__device__ __forceinline__ PlainOperand plain_operand(const void* first, int line = __builtin_LINE()) {
    tconv_emulator::check_alignment(first, 16, "plain operand of wgmma", line);
    return reinterpret_cast<u64>(first);
}

/// The same `bytes` further on, a multiple of 16.
__device__ __forceinline__ PlainOperand plain_after(PlainOperand operand, int bytes) {
    return operand + static_cast<u64>(bytes);
}

/// The same operand, of which the compiler learns that all lanes of the warp have it: what products add to it is then
/// worked out once a warp, in the registers that they read it from.
__device__ __forceinline__ PlainOperand plain_of_warp(PlainOperand operand) {
    return operand;
}

namespace wgmma {

// Where the lanes of each warp have A of the product that they start.
TCONV_EMULATOR_STATE const u32* lane_registers[32][32] = {};

/// The registers of the four lanes that have a row's values.
inline tconv_emulator::LeftOperand left_operand(const u32 (&a)[4], int line) {
    const int lane = tconv_emulator::lane();
    const u32*(&warp)[32] = lane_registers[threadIdx.x / 32];
    warp[lane] = a;
    __syncwarp(0xffffffffu, line);
    tconv_emulator::LeftOperand left{};
    for (int i = 0; i < 4; ++i)
        left.words[i] = reinterpret_cast<u64>(warp[lane / 4 * 4 + i]);
    __syncwarp(0xffffffffu, line);
    return left;
}

}  // namespace wgmma

/// Starts D += A * B of one warpgroup: 64 x K times K x N, K = 32 bytes of T. Each warp's `a` are 16 rows as mma_16x8
/// takes them; neither they nor D may be touched before the product is waited for. D is as wgmma_start has it, and B's
/// eights of columns lie EIGHTS bytes apart.
template <class T, int N, int Eights>
__device__ __forceinline__ void wgmma_add(float (&d)[N / 2], const u32 (&a)[4], PlainOperand b,
                                          int line = __builtin_LINE()) {
    const u64 described = b | static_cast<u64>(Eights / 128) << 48;
    using tconv_emulator::Placement;
    const tconv_emulator::LeftOperand left = wgmma::left_operand(a, line);
    tconv_emulator::host->start_product(tconv_emulator::host->context,
                                        {EmulatedElement<T>::value, N, Placement::registers, Placement::plain}, d,
                                        &left, described, 1);
}

/// Likewise D = A * B, plus D where `add` is not 0, by B as wgmma_operand describes it.
template <class T, int N>
__device__ __forceinline__ void wgmma_start(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool add,
                                            int line = __builtin_LINE()) {
    using tconv_emulator::Placement;
    const tconv_emulator::LeftOperand left = wgmma::left_operand(a, line);
    tconv_emulator::host->start_product(tconv_emulator::host->context,
                                        {EmulatedElement<T>::value, N, Placement::registers, Placement::k_major}, d,
                                        &left, b, add ? 1 : 0);
}

/// Sums that ordinary instructions go on with are taken for new from here on: behind a wait for the products that made
/// them.
template <int N>
__device__ __forceinline__ void wgmma_take(float (&)[N]) {}

#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The lower word of a descriptor (wgmma.cuh): the start, and 16 bytes further along K as the leading dimension's
// offset. The upper word, the stride dimension's offset, is a constant.
using PlainOperand = u32;
__device__ __forceinline__ PlainOperand plain_operand(const void* first) {
    constexpr u32 second_half = 128;
    return second_half / 16 << 16 | (static_cast<u32>(__cvta_generic_to_shared(first)) & 0x3FFFF) >> 4;
}

__device__ __forceinline__ PlainOperand plain_after(PlainOperand operand, int bytes) {
    return operand + static_cast<u32>(bytes / 16);
}

__device__ __forceinline__ PlainOperand plain_of_warp(PlainOperand operand) {
    return __reduce_or_sync(0xffffffffu, operand);
}

template <class T, int N>
struct WgmmaRegisters;

// A, B and ADD are the numbers of the operands behind the accumulators; REST are those that a type has besides.
#define TCONV_WGMMA(Type, N, SHAPE, NAME, REST, A, B, ADD)                                                            \
    template <>                                                                                                       \
    struct WgmmaRegisters<Type, N> {                                                                                  \
        __device__ static __forceinline__ void start(float (&d)[N / 2], const u32 (&a)[4], u64 b, int add) {          \
            asm volatile("{ .reg .pred add; setp.ne.b32 add, " ADD ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N SHAPE \
                         ".f32." NAME "." NAME " {" TCONV_REGISTERS_##N "}, {" A "}, " B ", add, 1, 1" REST "; }"     \
                         : TCONV_FLOATS_##N(d)                                                                        \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));                             \
        }                                                                                                             \
    };
#define TCONV_WGMMA_TYPES(N, A, B, ADD)                   \
    TCONV_WGMMA(f16, N, "k16", "f16", ", 0", A, B, ADD)   \
    TCONV_WGMMA(bf16, N, "k16", "bf16", ", 0", A, B, ADD) \
    TCONV_WGMMA(tf32, N, "k8", "tf32", "", A, B, ADD)
TCONV_WGMMA_TYPES(8, "%4, %5, %6, %7", "%8", "%9")
TCONV_WGMMA_TYPES(16, "%8, %9, %10, %11", "%12", "%13")
TCONV_WGMMA_TYPES(24, "%12, %13, %14, %15", "%16", "%17")
TCONV_WGMMA_TYPES(32, "%16, %17, %18, %19", "%20", "%21")
TCONV_WGMMA_TYPES(40, "%20, %21, %22, %23", "%24", "%25")
TCONV_WGMMA_TYPES(48, "%24, %25, %26, %27", "%28", "%29")
TCONV_WGMMA_TYPES(56, "%28, %29, %30, %31", "%32", "%33")
TCONV_WGMMA_TYPES(64, "%32, %33, %34, %35", "%36", "%37")
TCONV_WGMMA_TYPES(72, "%36, %37, %38, %39", "%40", "%41")
TCONV_WGMMA_TYPES(80, "%40, %41, %42, %43", "%44", "%45")
TCONV_WGMMA_TYPES(88, "%44, %45, %46, %47", "%48", "%49")
TCONV_WGMMA_TYPES(96, "%48, %49, %50, %51", "%52", "%53")
TCONV_WGMMA_TYPES(104, "%52, %53, %54, %55", "%56", "%57")
TCONV_WGMMA_TYPES(112, "%56, %57, %58, %59", "%60", "%61")
TCONV_WGMMA_TYPES(120, "%60, %61, %62, %63", "%64", "%65")
TCONV_WGMMA_TYPES(128, "%64, %65, %66, %67", "%68", "%69")
TCONV_WGMMA_TYPES(136, "%68, %69, %70, %71", "%72", "%73")
TCONV_WGMMA_TYPES(144, "%72, %73, %74, %75", "%76", "%77")
TCONV_WGMMA_TYPES(152, "%76, %77, %78, %79", "%80", "%81")
TCONV_WGMMA_TYPES(160, "%80, %81, %82, %83", "%84", "%85")
TCONV_WGMMA_TYPES(168, "%84, %85, %86, %87", "%88", "%89")
TCONV_WGMMA_TYPES(176, "%88, %89, %90, %91", "%92", "%93")
TCONV_WGMMA_TYPES(184, "%92, %93, %94, %95", "%96", "%97")
TCONV_WGMMA_TYPES(192, "%96, %97, %98, %99", "%100", "%101")
TCONV_WGMMA_TYPES(200, "%100, %101, %102, %103", "%104", "%105")
TCONV_WGMMA_TYPES(208, "%104, %105, %106, %107", "%108", "%109")
TCONV_WGMMA_TYPES(216, "%108, %109, %110, %111", "%112", "%113")
TCONV_WGMMA_TYPES(224, "%112, %113, %114, %115", "%116", "%117")
TCONV_WGMMA_TYPES(232, "%116, %117, %118, %119", "%120", "%121")
TCONV_WGMMA_TYPES(240, "%120, %121, %122, %123", "%124", "%125")
TCONV_WGMMA_TYPES(248, "%124, %125, %126, %127", "%128", "%129")
TCONV_WGMMA_TYPES(256, "%128, %129, %130, %131", "%132", "%133")
#undef TCONV_WGMMA_TYPES
#undef TCONV_WGMMA

template <class T, int N, int Eights>
__device__ __forceinline__ void wgmma_add(float (&d)[N / 2], const u32 (&a)[4], PlainOperand b) {
    WgmmaRegisters<T, N>::start(d, a, static_cast<u64>(Eights / 16) << 32 | b, 1);
}

template <class T, int N>
__device__ __forceinline__ void wgmma_start(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool add) {
    WgmmaRegisters<T, N>::start(d, a, b, add ? 1 : 0);
}

template <int N>
__device__ __forceinline__ void wgmma_take(float (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

#else

// Names for code that is compiled for other devices too, and discarded there.
using PlainOperand = u32;
__device__ PlainOperand plain_operand(const void* first);
__device__ PlainOperand plain_after(PlainOperand operand, int bytes);
__device__ PlainOperand plain_of_warp(PlainOperand operand);
template <class T, int N, int Eights>
__device__ void wgmma_add(float (&d)[N / 2], const u32 (&a)[4], PlainOperand b);
template <int N>
__device__ void wgmma_take(float (&d)[N]);
__device__ void wgmma_fence();
__device__ void wgmma_commit();
template <int GROUPS>
__device__ void wgmma_wait();
__device__ void fence_async_proxy();

#endif

}  // namespace tconv

#endif
