// Matrix products of one warp (mma.sync, compute capability 8.0 and up) and the conversions that their operands need,
// each instruction behind one function with a twin for the emulator.
#ifndef TCONV_WARP_MMA_CUH
#define TCONV_WARP_MMA_CUH

#include "tconv.cuh"

namespace tconv {

/// A TF32 number: a float whose lower 13 bits the tensor cores ignore.
struct tf32 {
    u32 bits;
};

#ifdef TCONV_EMULATOR

/// What the emulator calls the operands of a product.
template <class T>
struct EmulatedElement;
template <>
struct EmulatedElement<f16> {
    static constexpr tconv_emulator::Element value = tconv_emulator::Element::f16;
};
template <>
struct EmulatedElement<bf16> {
    static constexpr tconv_emulator::Element value = tconv_emulator::Element::bf16;
};
template <>
struct EmulatedElement<tf32> {
    static constexpr tconv_emulator::Element value = tconv_emulator::Element::tf32;
};

/// D += A * B of one warp: 16 x K times K x 8, K = 16 (f16, bf16) or 8 (tf32), accumulated in float. Fragments as PTX
/// lays them out (PTX ISA, "Matrix Fragments for mma.m16n8k16" and "m16n8k8"): with g = lane / 4 and t = lane % 4, `d`
/// holds rows g, g, g + 8, g + 8 and columns 2t, 2t + 1, 2t, 2t + 1.
template <class T>
__device__ __forceinline__ void mma_16x8(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2],
                                         int line = __builtin_LINE()) {
    tconv_emulator::host->multiply_warp(tconv_emulator::host->context, EmulatedElement<T>::value, d, a, b, line);
}

/// The nearest TF32 number, ties away from zero.
__device__ __forceinline__ u32 round_to_tf32(float value) {
    const u32 bits = __float_as_uint(value);
    return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}

/// The nearest value of a 16-bit type, ties to even.
template <class T>
__device__ __forceinline__ T from_float(float value) {
    return from_double<T>(static_cast<double>(value));
}

/// Both values as the nearest bfloat16, `low` in the lower half.
__device__ __forceinline__ u32 pack_bf16(float low, float high) {
    return from_float<bf16>(low).bits | static_cast<u32>(from_float<bf16>(high).bits) << 16;
}

/// Likewise as half precision.
__device__ __forceinline__ u32 pack_f16(float low, float high) {
    return from_float<f16>(low).bits | static_cast<u32>(from_float<f16>(high).bits) << 16;
}

#else

#if __CUDA_ARCH__ >= 800

template <class T>
__device__ __forceinline__ void mma_16x8(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]);
#define TCONV_MMA(Type, SHAPE, NAME)                                                                   \
    template <>                                                                                        \
    __device__ __forceinline__ void mma_16x8<Type>(float(&d)[4], const u32(&a)[4], const u32(&b)[2]) { \
        asm("mma.sync.aligned." SHAPE ".row.col.f32." NAME "." NAME                                    \
            ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "                                      \
            "{%0, %1, %2, %3};"                                                                        \
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                           \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                       \
    }
TCONV_MMA(f16, "m16n8k16", "f16")
TCONV_MMA(bf16, "m16n8k16", "bf16")
TCONV_MMA(tf32, "m16n8k8", "tf32")
#undef TCONV_MMA

__device__ __forceinline__ u32 round_to_tf32(float value) {
    u32 result;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(value));
    return result;
}

__device__ __forceinline__ u32 pack_bf16(float low, float high) {
    u32 result;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
    return result;
}

__device__ __forceinline__ u32 pack_f16(float low, float high) {
    u32 result;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
    return result;
}

template <class T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ f16 from_float<f16>(float value) {
    f16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
}
template <>
__device__ __forceinline__ bf16 from_float<bf16>(float value) {
    return bf16{static_cast<u16>(pack_bf16(value, 0.0f))};
}

#endif

#endif

#if defined(TCONV_EMULATOR) || __CUDA_ARCH__ >= 800

template <>
__device__ __forceinline__ float from_float<float>(float value) {
    return value;
}

/// High and low part of a value, whose sum is nearly the value; of two values, packed as pack_bf16 does.
__device__ __forceinline__ void split_tf32(float value, u32& high, u32& low) {
    high = round_to_tf32(value);
    low = round_to_tf32(value - __uint_as_float(high));
}
__device__ __forceinline__ void split_bf16(float first, float second, u32& high, u32& low) {
    high = pack_bf16(first, second);
    low = pack_bf16(first - __uint_as_float(high << 16), second - __uint_as_float(high & 0xffff0000u));
}

/// High part of a value in the lower half, low part in the upper.
__device__ __forceinline__ u32 split_bf16(float value) {
    const u32 high = pack_bf16(0.0f, value);
    return pack_bf16(value, value - __uint_as_float(high));
}

#endif

}  // namespace tconv

#endif
