// What validation runs on the device besides the candidates: inputs, comparison, guard checks. All use grid-stride
// loops, so any launch geometry serves.
#include "grid.cuh"
#include "tconv.cuh"

namespace tconv::support {

/// [0, 1) on a grid of 2^-24, so that f32 holds it exactly.
__device__ __forceinline__ double uniform(u64 bits) {
    return static_cast<double>(bits >> 40) * (1.0 / 16777216.0);
}

/// Sum of twelve uniforms less six: close to a standard normal, and the same on every device.
__device__ __forceinline__ double normal(u64 seed, u64 index) {
    double sum = -6.0;
    for (u64 i = 0; i < 4; ++i) {
        const u64 bits = random_bits(seed, 4 * index + i);
        sum += (static_cast<double>(bits & 0x1FFFFF) + static_cast<double>(bits >> 21 & 0x1FFFFF) +
                static_cast<double>(bits >> 42 & 0x1FFFFF)) *
               (1.0 / 2097152.0);
    }
    return sum;
}

/// Distributions by number; the host's list is in tuner/validator.
enum : int { k_normal = 0, k_uniform = 1, k_integers = 2, k_wide = 3 };

__device__ __forceinline__ double draw(int distribution, u64 seed, u64 index) {
    const u64 bits = random_bits(seed ^ 0xD1B54A32D192ED03ull, index);
    switch (distribution) {
        case k_uniform:
            return uniform(bits);
        case k_integers:
            return static_cast<double>(static_cast<int>(bits % 17) - 8);
        case k_wide: {
            // Magnitudes over about six decades with both signs, so that sums cancel.
            const int exponent = static_cast<int>(bits % 21) - 10;
            const double magnitude =
                (1.0 + uniform(random_bits(seed, index))) * (exponent < 0 ? 1.0 / (1 << -exponent) : 1 << exponent);
            return (bits >> 32 & 1) != 0 ? -magnitude : magnitude;
        }
        default:
            return normal(seed, index);
    }
}

template <class T>
__device__ void fill(T* data, i64 count, int distribution, u64 seed) {
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        data[i] = from_double<T>(draw(distribution, seed, static_cast<u64>(i)));
    }
}

/// Guard zones of equal size; their number is that of SupportKernels::k_most_zones.
struct Zones {
    const u8* start[16];
};

/// What `compare` finds. Errors are non-negative doubles, whose bit patterns order like the numbers.
struct Comparison {
    u64 relative_bits;
    u64 absolute_bits;
    u64 worst_index;
    u64 bad_count;  // NaN or infinity
    u64 first_bad;
};

template <class T>
__device__ void compare(const T* output, const double* reference, const float* scale, i64 count, Comparison* result) {
    double worst = -1;
    double worst_absolute = 0;
    i64 worst_index = 0;
    u64 bad = 0;
    u64 first_bad = ~0ull;
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        const double difference = fabs(to_double(output[i]) - reference[i]);
        if (!(difference < 1e300)) {
            ++bad;
            first_bad = first_bad < static_cast<u64>(i) ? first_bad : static_cast<u64>(i);
            continue;
        }
        const double size = fabs(reference[i]) + static_cast<double>(scale[i]);
        const double relative = difference == 0 ? 0 : size > 0 ? difference / size : 1e300;
        if (relative > worst) {
            worst = relative;
            worst_index = i;
        }
        worst_absolute = difference > worst_absolute ? difference : worst_absolute;
    }
    if (bad > 0) {
        atomicAdd(&result->bad_count, bad);
        atomicMin(&result->first_bad, first_bad);
    }
    if (worst < 0) return;
    // One 64-bit word orders by error first: the upper 24 bits of the float32 pattern, then the element's place modulo
    // 2^40.
    const u64 order = static_cast<u64>(__float_as_uint(static_cast<float>(worst)) >> 8) << 40 |
                      (static_cast<u64>(worst_index) & 0xFFFFFFFFFFull);
    atomicMax(&result->worst_index, order);
    atomicMax(&result->relative_bits, static_cast<u64>(__double_as_longlong(worst)));
    atomicMax(&result->absolute_bits, static_cast<u64>(__double_as_longlong(worst_absolute)));
}

}  // namespace tconv::support

extern "C" __global__ void tconv_fill_f32(float* data, tconv::i64 count, int distribution, tconv::u64 seed) {
    tconv::support::fill(data, count, distribution, seed);
}
extern "C" __global__ void tconv_fill_f16(tconv::f16* data, tconv::i64 count, int distribution, tconv::u64 seed) {
    tconv::support::fill(data, count, distribution, seed);
}
extern "C" __global__ void tconv_fill_bf16(tconv::bf16* data, tconv::i64 count, int distribution, tconv::u64 seed) {
    tconv::support::fill(data, count, distribution, seed);
}

extern "C" __global__ void tconv_compare_f32(const float* output, const double* reference, const float* scale,
                                             tconv::i64 count, tconv::support::Comparison* result) {
    tconv::support::compare(output, reference, scale, count, result);
}
extern "C" __global__ void tconv_compare_f16(const tconv::f16* output, const double* reference, const float* scale,
                                             tconv::i64 count, tconv::support::Comparison* result) {
    tconv::support::compare(output, reference, scale, count, result);
}
extern "C" __global__ void tconv_compare_bf16(const tconv::bf16* output, const double* reference, const float* scale,
                                              tconv::i64 count, tconv::support::Comparison* result) {
    tconv::support::compare(output, reference, scale, count, result);
}

/// Counts the bytes of two buffers that differ (in whole 4-byte words; the tail byte by byte).
extern "C" __global__ void tconv_count_differences(const unsigned* first, const unsigned* second, tconv::i64 bytes,
                                                   tconv::u64* differences) {
    using namespace tconv;
    u64 found = 0;
    for (i64 i = thread_index(); i < bytes / 4; i += thread_count())
        found += first[i] != second[i] ? 1 : 0;
    if (thread_index() == 0) {
        const u8* tail_first = reinterpret_cast<const u8*>(first);
        const u8* tail_second = reinterpret_cast<const u8*>(second);
        for (i64 i = bytes / 4 * 4; i < bytes; ++i)
            found += tail_first[i] != tail_second[i] ? 1 : 0;
    }
    if (found > 0) atomicAdd(differences, found);
}

/// Counts, one block a zone, the bytes of guard zones that no longer hold `value`.
extern "C" __global__ void tconv_count_changed(tconv::support::Zones zones, tconv::i64 bytes, int value,
                                               tconv::u64* changed) {
    using namespace tconv;
    u64 found = 0;
    for (i64 i = threadIdx.x; i < bytes; i += blockDim.x)
        found += zones.start[blockIdx.x][i] != value ? 1 : 0;
    if (found > 0) atomicAdd(&changed[blockIdx.x], found);
}
