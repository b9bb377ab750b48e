// What every kernel source shares. Everything that only NVIDIA's compiler understands (inline PTX, read-only loads,
// dynamic shared memory) is here behind a few names, each with a twin for the emulator (TCONV_EMULATOR). No includes,
// so that a kernel is one self-contained text.
#ifndef TCONV_CUH
#define TCONV_CUH

namespace tconv {

using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
using u8 = unsigned char;
using u16 = unsigned short;

static_assert(sizeof(i32) == 4 && sizeof(u32) == 4, "32-bit integers");
static_assert(sizeof(i64) == 8 && sizeof(u64) == 8, "64-bit integers");
static_assert(sizeof(u8) == 1 && sizeof(u16) == 2, "8- and 16-bit integers");

/// Offset of a weight: [in channel][out channel of the group][tap], or, channels last, [in channel][tap][out channel].
template <class Index>
__device__ constexpr Index weight_offset(bool channels_last, Index in_channel, Index out_channel, Index tap,
                                         Index out_group, Index taps) {
    return in_channel * out_group * taps + (channels_last ? tap * out_group + out_channel : out_channel * taps + tap);
}

/// N floats that are read and written in one access of 4 * N bytes.
template <int N>
struct alignas(4 * N) Floats {
    static_assert(N == 1 || N == 2 || N == 4, "a vector access has 4, 8 or 16 bytes");
    float v[N];
};

/// Half precision and bfloat16 as their bits; arithmetic is done in float or double.
struct f16 {
    u16 bits;
};
struct bf16 {
    u16 bits;
};

/// N 16-bit values that are read in one access of 2 * N bytes, two in a word.
template <int N>
struct alignas(2 * N) Halves {
    static_assert(N == 2 || N == 4 || N == 8, "a vector access has 2, 4, 8 or 16 bytes");
    u32 words[N / 2];
};
template <>
struct alignas(2) Halves<1> {
    u16 value;
};

#ifdef TCONV_EMULATOR

/// The block's dynamic shared memory, aligned to 1024 bytes: as much as any swizzle of the copy engine looks at.
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
    return static_cast<T*>(tconv_emulator::dynamic_shared());
}

/// Loads through the read-only cache: for memory that nothing writes during the kernel.
template <class T>
__device__ __forceinline__ T load_readonly(const T* address) {
    return *address;
}

/// One access of 4 * N bytes; the address must be a multiple of that.
template <int N>
__device__ __forceinline__ Floats<N> load(const float* address, int line = __builtin_LINE()) {
    tconv_emulator::check_alignment(address, 4 * N, "vector load", line);
    Floats<N> value;
    __builtin_memcpy(&value, address, sizeof value);
    return value;
}

/// The same through the read-only cache.
template <int N>
__device__ __forceinline__ Floats<N> load_readonly(const float* address, int line = __builtin_LINE()) {
    return load<N>(address, line);
}

template <int N>
__device__ __forceinline__ Halves<N> load_halves(const u16* address, int line = __builtin_LINE()) {
    tconv_emulator::check_alignment(address, 2 * N, "vector load", line);
    Halves<N> value;
    __builtin_memcpy(&value, address, sizeof value);
    return value;
}

template <int N>
__device__ __forceinline__ void store(float* address, Floats<N> value, int line = __builtin_LINE()) {
    tconv_emulator::check_alignment(address, 4 * N, "vector store", line);
    __builtin_memcpy(address, &value, sizeof value);
}

/// The same to the device's memory; the compiler may take an access of plain values apart.
template <int N>
__device__ __forceinline__ void store_global(float* address, Floats<N> value, int line = __builtin_LINE()) {
    store<N>(address, value, line);
}

/// Starts a copy of BYTES bytes from global to shared memory, both addresses multiples of BYTES. Where `valid` is false
/// it writes zeros and does not read the global address. The bytes are there after copy_async_wait.
template <int BYTES>
__device__ __forceinline__ void copy_async(void* shared, const void* global, bool valid, int line = __builtin_LINE()) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "an asynchronous copy has 4, 8 or 16 bytes");
    tconv_emulator::check_alignment(shared, BYTES, "destination of an asynchronous copy", line);
    if (valid) tconv_emulator::check_alignment(global, BYTES, "source of an asynchronous copy", line);
    tconv_emulator::copy_async(shared, valid ? global : nullptr, BYTES);
}

/// In a launch that overlaps the one before it (compute capability 9.0): returns once that one has ended and what it
/// wrote can be read. It says nothing of launches before that one unless that one has waited too.
__device__ __forceinline__ void wait_for_launch_before() {}

/// Lets the next launch, where it overlaps this one, start as soon as every block of this one has said so or ended.
__device__ __forceinline__ void let_next_launch_start() {}

/// Closes this thread's group of copies started so far.
__device__ __forceinline__ void copy_async_commit() {
    tconv_emulator::copy_async_commit();
}

/// Waits until at most GROUPS of this thread's most recent groups are pending. Other threads see the data after a
/// barrier that follows.
template <int GROUPS>
__device__ __forceinline__ void copy_async_wait() {
    tconv_emulator::copy_async_wait(GROUPS);
}

/// Has the L2 cache fetch the line of an address that is read later.
__device__ __forceinline__ void prefetch(const void*) {}

__device__ __forceinline__ float to_float(f16 value) {
    const u32 sign = static_cast<u32>(value.bits >> 15) << 31;
    const u32 exponent = value.bits >> 10 & 31u;
    const u32 fraction = value.bits & 1023u;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return __uint_as_float(sign | (exponent + 112u) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
}

#else

template <class T>
__device__ __forceinline__ T* dynamic_shared() {
    extern __shared__ __align__(1024) unsigned char tconv_dynamic_shared[];
    return reinterpret_cast<T*>(tconv_dynamic_shared);
}

template <class T>
__device__ __forceinline__ T load_readonly(const T* address) {
    return __ldg(address);
}
template <>
__device__ __forceinline__ f16 load_readonly<f16>(const f16* address) {
    return f16{__ldg(&address->bits)};
}
template <>
__device__ __forceinline__ bf16 load_readonly<bf16>(const bf16* address) {
    return bf16{__ldg(&address->bits)};
}

template <int N>
__device__ __forceinline__ Floats<N> load(const float* address) {
    if constexpr (N == 4) {
        const float4 value = *reinterpret_cast<const float4*>(address);
        return {{value.x, value.y, value.z, value.w}};
    } else if constexpr (N == 2) {
        const float2 value = *reinterpret_cast<const float2*>(address);
        return {{value.x, value.y}};
    } else {
        return {{*address}};
    }
}

template <int N>
__device__ __forceinline__ Floats<N> load_readonly(const float* address) {
    if constexpr (N == 4) {
        const float4 value = __ldg(reinterpret_cast<const float4*>(address));
        return {{value.x, value.y, value.z, value.w}};
    } else if constexpr (N == 2) {
        const float2 value = __ldg(reinterpret_cast<const float2*>(address));
        return {{value.x, value.y}};
    } else {
        return {{__ldg(address)}};
    }
}

template <int N>
__device__ __forceinline__ Halves<N> load_halves(const u16* address) {
    if constexpr (N == 8) {
        const uint4 value = __ldg(reinterpret_cast<const uint4*>(address));
        return {{value.x, value.y, value.z, value.w}};
    } else if constexpr (N == 4) {
        const uint2 value = __ldg(reinterpret_cast<const uint2*>(address));
        return {{value.x, value.y}};
    } else if constexpr (N == 2) {
        return {{__ldg(reinterpret_cast<const u32*>(address))}};
    } else {
        return {__ldg(address)};
    }
}

template <int N>
__device__ __forceinline__ void store(float* address, Floats<N> value) {
    if constexpr (N == 4) {
        *reinterpret_cast<float4*>(address) = make_float4(value.v[0], value.v[1], value.v[2], value.v[3]);
    } else if constexpr (N == 2) {
        *reinterpret_cast<float2*>(address) = make_float2(value.v[0], value.v[1]);
    } else {
        *address = value.v[0];
    }
}

template <int N>
__device__ __forceinline__ void store_global(float* address, Floats<N> value) {
    if constexpr (N == 4) {
        asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(value.v[0]), "f"(value.v[1]),
                     "f"(value.v[2]), "f"(value.v[3])
                     : "memory");
    } else if constexpr (N == 2) {
        asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(address), "f"(value.v[0]), "f"(value.v[1]) : "memory");
    } else {
        *address = value.v[0];
    }
}

template <int BYTES>
__device__ __forceinline__ void copy_async(void* shared, const void* global, bool valid) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "an asynchronous copy has 4, 8 or 16 bytes");
    const u32 destination = static_cast<u32>(__cvta_generic_to_shared(shared));
    const u32 source_bytes = valid ? BYTES : 0;
    if constexpr (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(global), "r"(source_bytes)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(destination), "l"(global), "r"(source_bytes),
                     "n"(BYTES)
                     : "memory");
    }
}

__device__ __forceinline__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_next_launch_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ void copy_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int GROUPS>
__device__ __forceinline__ void copy_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}

__device__ __forceinline__ void prefetch(const void* address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

__device__ __forceinline__ float to_float(f16 value) {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
    return result;
}

#endif

/// N words, each a value of `low` in its lower half and one of `high` in its upper; `address` is a multiple of 4 * N
/// bytes, of 16 where N is 8.
template <int N>
__device__ __forceinline__ void store_pairs(u32* address, const Halves<N>& low, const Halves<N>& high) {
    if constexpr (N == 1) {
        *address = low.value | static_cast<u32>(high.value) << 16;
    } else {
#pragma unroll
        for (int i = 0; i < N / 2; i += 2) {
            constexpr int words = N == 2 ? 2 : 4;
            Floats<words> value;
#pragma unroll
            for (int j = 0; j < words / 2; ++j) {
                const u32 a = low.words[i + j];
                const u32 b = high.words[i + j];
                value.v[2 * j] = __uint_as_float((a & 0xffffu) | b << 16);
                value.v[2 * j + 1] = __uint_as_float(a >> 16 | (b & 0xffff0000u));
            }
            store<words>(reinterpret_cast<float*>(address + 2 * i), value);
        }
    }
}

__device__ __forceinline__ float to_float(float value) {
    return value;
}
__device__ __forceinline__ float to_float(bf16 value) {
    return __uint_as_float(static_cast<u32>(value.bits) << 16);
}

/// Exact: every value of the three types is a double.
__device__ __forceinline__ double to_double(float value) {
    return static_cast<double>(value);
}
__device__ __forceinline__ double to_double(f16 value) {
    return static_cast<double>(to_float(value));
}
__device__ __forceinline__ double to_double(bf16 value) {
    return static_cast<double>(to_float(value));
}

/// Bits of `value` rounded once, to nearest even, to a format of 1 + EXPONENT + FRACTION = 16 bits. In integers, so
/// that no step by way of float rounds a second time and both machines agree bit for bit.
template <int EXPONENT, int FRACTION>
__device__ __forceinline__ u16 round_to_16_bits(double value) {
    constexpr int bias = (1 << (EXPONENT - 1)) - 1;
    constexpr u32 infinity = ((1u << EXPONENT) - 1u) << FRACTION;
    const u64 bits = static_cast<u64>(__double_as_longlong(value));
    const u32 sign = static_cast<u32>(bits >> 63) << 15;
    const int exponent = static_cast<int>(bits >> 52 & 2047u);
    const u64 fraction = bits & ((1ull << 52) - 1);
    if (exponent == 2047) {
        const u32 quiet = 1u << (FRACTION - 1) | static_cast<u32>(fraction >> (52 - FRACTION));
        return static_cast<u16>(sign | infinity | (fraction != 0 ? quiet : 0u));
    }
    const int rebiased = exponent - 1023 + bias;
    const int shift = 52 - FRACTION + (rebiased < 1 ? 1 - rebiased : 0);
    if (exponent == 0 || shift > 53) return static_cast<u16>(sign);
    const u64 significand = fraction | 1ull << 52;
    const u64 rest = significand & ((1ull << shift) - 1);
    const u64 half = 1ull << (shift - 1);
    u64 rounded = significand >> shift;
    if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
    // A normal number's leading one counts as one exponent step, so a carry out of the fraction needs no care.
    if (rebiased > 1) rounded += static_cast<u64>(rebiased - 1) << FRACTION;
    return static_cast<u16>(sign | (rounded < infinity ? static_cast<u32>(rounded) : infinity));
}

/// The nearest value of T, ties to even, rounded once.
template <class T>
__device__ T from_double(double value);
template <>
__device__ __forceinline__ float from_double<float>(double value) {
    return static_cast<float>(value);
}
template <>
__device__ __forceinline__ f16 from_double<f16>(double value) {
    return f16{round_to_16_bits<5, 10>(value)};
}
template <>
__device__ __forceinline__ bf16 from_double<bf16>(double value) {
    return bf16{round_to_16_bits<8, 7>(value)};
}

}  // namespace tconv

#endif
