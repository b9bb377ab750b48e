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

/// Distributions by number; the host's list is in tuner/test_values.
enum : int { k_normal = 0, k_uniform = 1, k_integers = 2, k_wide = 3 };

/// How a tensor is drawn; the host's twin is tconv::TestValues.
struct Values {
    i64 distribution;
    i64 period;                 // elements after which the values repeat
    i64 range;                  // integers: -range to range
    i64 first_octave, octaves;  // wide: powers of two of the magnitudes
    i64 pair_stride;            // wide: elements from one channel to the next; 0: no pairs
    i64 pair_channels;          // wide: channels of a group
    i64 pair_sign;              // wide: the second of a pair of channels beside the first
};

/// Magnitudes over many octaves, both signs. The channels of a group go in pairs of nearly the same values; the signs
/// of the weights differ, so that the large products cancel and the small ones decide.
__device__ __forceinline__ double wide(const Values& values, u64 seed, i64 index) {
    const bool second = values.pair_stride > 0 && index / values.pair_stride % values.pair_channels % 2 == 1;
    const u64 first = static_cast<u64>(second ? index - values.pair_stride : index);
    const u64 bits = random_bits(seed ^ 0xD1B54A32D192ED03ull, first);
    const int exponent = static_cast<int>(values.first_octave + static_cast<i64>((bits & 0xFFFF) % values.octaves));
    const double magnitude =
        (1.0 + uniform(random_bits(seed, first))) * (exponent < 0 ? 1.0 / (1 << -exponent) : 1 << exponent);
    const double value = (bits >> 32 & 1) != 0 ? -magnitude : magnitude;
    if (!second) return value;
    return value * static_cast<double>(values.pair_sign) * (1.0 + uniform(random_bits(seed, index)) * (1.0 / 256));
}

__device__ __forceinline__ double draw(const Values& values, u64 seed, i64 index) {
    const u64 bits = random_bits(seed ^ 0xD1B54A32D192ED03ull, static_cast<u64>(index));
    switch (values.distribution) {
        case k_uniform:
            return uniform(bits);
        case k_integers:
            return static_cast<double>(static_cast<i64>(bits % static_cast<u64>(2 * values.range + 1)) - values.range);
        case k_wide:
            return wide(values, seed, index);
        default:
            return normal(seed, static_cast<u64>(index));
    }
}

template <class T>
__device__ void fill(T* data, i64 count, const Values& values, u64 seed) {
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        data[i] = from_double<T>(draw(values, seed, i % values.period));
    }
}

/// The smallest positive number of T with its full precision: below it the type's own steps are no error of a kernel.
template <class T>
__device__ constexpr double smallest_normal();
template <>
__device__ constexpr double smallest_normal<float>() {
    return 1.1754943508222875e-38;
}
template <>
__device__ constexpr double smallest_normal<f16>() {
    return 6.103515625e-05;
}
template <>
__device__ constexpr double smallest_normal<bf16>() {
    return 1.1754943508222875e-38;
}

/// `difference` by the measure of errors: beside the result's own size and the size that the sum would have without
/// cancellation.
template <class T>
__device__ __forceinline__ double relative_to(double difference, double reference, float scale) {
    return difference / (fabs(reference) + static_cast<double>(scale) + smallest_normal<T>());
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
    u64 inexact_count;  // not the reference rounded once
    u64 first_inexact;
};

template <class T>
__device__ void compare(const T* output, const double* reference, const float* scale, i64 count, Comparison* result) {
    double worst = -1;
    double worst_absolute = 0;
    i64 worst_index = 0;
    u64 bad = 0;
    u64 first_bad = ~0ull;
    u64 inexact = 0;
    u64 first_inexact = ~0ull;
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        const double found = to_double(output[i]);
        const double difference = fabs(found - reference[i]);
        if (!(difference < 1e300)) {
            ++bad;
            first_bad = first_bad < static_cast<u64>(i) ? first_bad : static_cast<u64>(i);
            continue;
        }
        if (found != to_double(from_double<T>(reference[i]))) {
            ++inexact;
            first_inexact = first_inexact < static_cast<u64>(i) ? first_inexact : static_cast<u64>(i);
        }
        const double relative = relative_to<T>(difference, reference[i], scale[i]);
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
    if (inexact > 0) {
        atomicAdd(&result->inexact_count, inexact);
        atomicMin(&result->first_inexact, first_inexact);
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

/// The largest difference of two outputs, by the measure of errors, as the bits of a non-negative double.
template <class T>
__device__ void spread(const T* first, const T* second, const double* reference, const float* scale, i64 count,
                       u64* result) {
    double worst = 0;
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        const double relative =
            relative_to<T>(fabs(to_double(first[i]) - to_double(second[i])), reference[i], scale[i]);
        worst = relative > worst ? relative : worst;
    }
    if (worst > 0) atomicMax(result, static_cast<u64>(__double_as_longlong(worst)));
}

/// Counts the elements that differ in any bit; Bits is an integer of the element's size.
template <class Bits>
__device__ void count_differences(const Bits* first, const Bits* second, i64 count, u64* differences) {
    u64 found = 0;
    for (i64 i = thread_index(); i < count; i += thread_count())
        found += first[i] != second[i] ? 1 : 0;
    if (found > 0) atomicAdd(differences, found);
}

/// Adds up the elements' bits, each mixed with its place, so that any change shows whatever the order of the threads.
template <class Bits>
__device__ void digest(const Bits* data, i64 count, u64* result) {
    u64 sum = 0;
    for (i64 i = thread_index(); i < count; i += thread_count())
        sum += random_bits(data[i], static_cast<u64>(i));
    atomicAdd(result, sum);
}

}  // namespace tconv::support

extern "C" __global__ void tconv_fill_f32(float* data, tconv::i64 count, tconv::support::Values values,
                                          tconv::u64 seed) {
    tconv::support::fill(data, count, values, seed);
}
extern "C" __global__ void tconv_fill_f16(tconv::f16* data, tconv::i64 count, tconv::support::Values values,
                                          tconv::u64 seed) {
    tconv::support::fill(data, count, values, seed);
}
extern "C" __global__ void tconv_fill_bf16(tconv::bf16* data, tconv::i64 count, tconv::support::Values values,
                                           tconv::u64 seed) {
    tconv::support::fill(data, count, values, seed);
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

extern "C" __global__ void tconv_spread_f32(const float* first, const float* second, const double* reference,
                                            const float* scale, tconv::i64 count, tconv::u64* result) {
    tconv::support::spread(first, second, reference, scale, count, result);
}
extern "C" __global__ void tconv_spread_f16(const tconv::f16* first, const tconv::f16* second, const double* reference,
                                            const float* scale, tconv::i64 count, tconv::u64* result) {
    tconv::support::spread(first, second, reference, scale, count, result);
}
extern "C" __global__ void tconv_spread_bf16(const tconv::bf16* first, const tconv::bf16* second,
                                             const double* reference, const float* scale, tconv::i64 count,
                                             tconv::u64* result) {
    tconv::support::spread(first, second, reference, scale, count, result);
}

extern "C" __global__ void tconv_count_differences_2(const tconv::u16* first, const tconv::u16* second,
                                                     tconv::i64 count, tconv::u64* differences) {
    tconv::support::count_differences(first, second, count, differences);
}
extern "C" __global__ void tconv_digest_2(const tconv::u16* data, tconv::i64 count, tconv::u64* result) {
    tconv::support::digest(data, count, result);
}
extern "C" __global__ void tconv_count_differences_4(const tconv::u32* first, const tconv::u32* second,
                                                     tconv::i64 count, tconv::u64* differences) {
    tconv::support::count_differences(first, second, count, differences);
}
extern "C" __global__ void tconv_digest_4(const tconv::u32* data, tconv::i64 count, tconv::u64* result) {
    tconv::support::digest(data, count, result);
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
