// Several neighbouring elements of a tensor in one access, as fp32 numbers.
#pragma once

#include "elements.cuh"
#include "warp_mma.cuh"

namespace tconv {

/// N elements as they are in memory.
template <int N>
using Vector = typename Either<problem::element_bytes == 4, Floats<N>, Halves<N>>::type;

/// Through the read-only cache; the address must be a multiple of the vector's size.
template <int N>
__device__ __forceinline__ Vector<N> load_vector(const Element* address) {
    if constexpr (problem::element_bytes == 4) {
        return load_readonly<N>(reinterpret_cast<const float*>(address));
    } else {
        return load_halves<N>(reinterpret_cast<const u16*>(address));
    }
}

/// The same into `vector` where `condition` holds; else the address is not looked at and the vector stays as it is. On
/// a GPU one predicated instruction.
#ifdef TCONV_EMULATOR
template <int N>
__device__ __forceinline__ void load_if(bool condition, Vector<N>& vector, const Element* address) {
    if (condition) vector = load_vector<N>(address);
}
#else
template <int N>
__device__ __forceinline__ void load_if(bool condition, Floats<N>& vector, const Element* address) {
    float(&v)[N] = vector.v;
    const int holds = condition ? 1 : 0;
    if constexpr (N == 4) {
        asm("{.reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];}"
            : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])
            : "l"(address), "r"(holds));
    } else if constexpr (N == 2) {
        asm("{.reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.f32 {%0, %1}, [%2];}"
            : "+f"(v[0]), "+f"(v[1])
            : "l"(address), "r"(holds));
    } else {
        asm("{.reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.f32 %0, [%1];}"
            : "+f"(v[0])
            : "l"(address), "r"(holds));
    }
}
template <int N>
__device__ __forceinline__ void load_if(bool condition, Halves<N>& vector, const Element* address) {
    const int holds = condition ? 1 : 0;
    if constexpr (N == 8) {
        asm("{.reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];}"
            : "+r"(vector.words[0]), "+r"(vector.words[1]), "+r"(vector.words[2]), "+r"(vector.words[3])
            : "l"(address), "r"(holds));
    } else if constexpr (N == 4) {
        asm("{.reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.u32 {%0, %1}, [%2];}"
            : "+r"(vector.words[0]), "+r"(vector.words[1])
            : "l"(address), "r"(holds));
    } else if constexpr (N == 2) {
        asm("{.reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.u32 %0, [%1];}"
            : "+r"(vector.words[0])
            : "l"(address), "r"(holds));
    } else {
        asm("{.reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.u16 %0, [%1];}"
            : "+h"(vector.value)
            : "l"(address), "r"(holds));
    }
}
#endif

template <int N>
__device__ __forceinline__ float element_of(const Floats<N>& vector, int i) {
    return vector.v[i];
}
template <int N, class T = Element>
__device__ __forceinline__ float element_of(const Halves<N>& vector, int i) {
    if constexpr (N == 1) {
        return to_float(T{vector.value});
    } else {
        return to_float(T{static_cast<u16>(vector.words[i / 2] >> (16 * (i % 2)))});
    }
}

__device__ __forceinline__ u32 pack_pair(f16, float low, float high) {
    return pack_f16(low, high);
}
__device__ __forceinline__ u32 pack_pair(bf16, float low, float high) {
    return pack_bf16(low, high);
}

/// N values rounded to elements: words of an access. With 16 bits N is even.
template <int N, class T>
__device__ __forceinline__ auto rounded(const float* values) {
    constexpr int words = N * static_cast<int>(sizeof(T)) / 4;
    Floats<words> vector;
#pragma unroll
    for (int i = 0; i < words; ++i) {
        if constexpr (sizeof(T) == 4) {
            vector.v[i] = values[i];
        } else {
            vector.v[i] = __uint_as_float(pack_pair(T{}, values[2 * i], values[2 * i + 1]));
        }
    }
    return vector;
}

/// Rounds N values to the tensor's elements and writes them in one access.
template <int N, class T = Element>
__device__ __forceinline__ void store_vector(T* address, const float* values) {
    if constexpr (N == 1) {
        *address = from_float<T>(values[0]);
    } else {
        const auto vector = rounded<N, T>(values);
        store<sizeof(vector) / 4>(reinterpret_cast<float*>(address), vector);
    }
}

/// The same in one access of the device's memory, which the compiler may not take apart.
template <int N, class T = Element>
__device__ __forceinline__ void store_whole(T* address, const float* values) {
    if constexpr (N == 1) {
        *address = from_float<T>(values[0]);
    } else {
        const auto vector = rounded<N, T>(values);
        store_global<sizeof(vector) / 4>(reinterpret_cast<float*>(address), vector);
    }
}

/// N elements that are copied in one access.
template <int N>
struct alignas(N* problem::element_bytes) Elements {
    Element v[N];
};

/// Copies N elements, both addresses multiples of their size.
template <int N>
__device__ __forceinline__ void copy_vector(Element* target, const Element* source) {
    *reinterpret_cast<Elements<N>*>(target) = *reinterpret_cast<const Elements<N>*>(source);
}

}  // namespace tconv
