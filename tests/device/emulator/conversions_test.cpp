// Half precision and bfloat16 of the shared header against values worked out here from the formats' definitions.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "emulator_for_tests.hpp"
#include "tests/catch.hpp"

namespace tconv {
namespace {

struct Format {
    int exponent_bits;
    int fraction_bits;
    [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    [[nodiscard]] unsigned infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
};
constexpr Format k_f16{5, 10};
constexpr Format k_bf16{8, 7};

/// The value of positive finite bits, by the definition of the format.
double value_of(const Format& format, unsigned bits) {
    const int exponent = static_cast<int>(bits >> format.fraction_bits);
    const double fraction = bits & ((1u << format.fraction_bits) - 1);
    const double one = 1u << format.fraction_bits;
    if (exponent == 0) return std::ldexp(fraction / one, 1 - format.bias());
    return std::ldexp(1 + fraction / one, exponent - format.bias());
}

/// The nearest bits by search among all finite values; past the middle between the largest and the next, infinity.
unsigned nearest(const Format& format, double value) {
    const unsigned sign = std::signbit(value) ? 0x8000u : 0u;
    const double magnitude = std::fabs(value);
    unsigned low = 0;
    unsigned high = format.infinity();  // as if the exponent went on
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        (value_of(format, middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - value_of(format, low);
    const double above = value_of(format, high) - magnitude;
    if (std::isinf(magnitude) || above < below || (above == below && low % 2 == 1)) return sign | high;
    return sign | low;
}

std::vector<double> awkward_values(const Format& format) {
    std::vector<double> values{0.0, -0.0, 1e300, -1e300, 1e-300, 5e-324, INFINITY, -INFINITY};
    for (unsigned bits = 0; bits < format.infinity(); ++bits) {
        const double middle = (value_of(format, bits) + value_of(format, bits + 1)) / 2;
        for (const double value : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, INFINITY)}) {
            values.push_back(value);
            values.push_back(-value);
        }
    }
    std::mt19937_64 generator(5);
    for (int i = 0; i < 100000; ++i) {
        const double exponent = std::uniform_real_distribution<double>(-150, 140)(generator);
        values.push_back(std::exp2(exponent) * (generator() % 2 == 0 ? 1 : -1));
    }
    return values;
}

constexpr const char* k_source = R"(
template <class T>
__device__ void widen(const T* in, double* out, float* floats, T* back, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = tconv::to_double(tconv::load_readonly(in + i));
    floats[i] = tconv::to_float(in[i]);
    back[i] = tconv::from_double<T>(out[i]);
}
template <class T>
__device__ void narrow(const double* in, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tconv::from_double<T>(in[i]);
}
extern "C" __global__ void widen_f16(const tconv::f16* in, double* out, float* floats, tconv::f16* back, int n) {
    widen(in, out, floats, back, n);
}
extern "C" __global__ void widen_bf16(const tconv::bf16* in, double* out, float* floats, tconv::bf16* back, int n) {
    widen(in, out, floats, back, n);
}
extern "C" __global__ void narrow_f16(const double* in, tconv::f16* out, int n) { narrow(in, out, n); }
extern "C" __global__ void narrow_bf16(const double* in, tconv::bf16* out, int n) { narrow(in, out, n); }
extern "C" __global__ void narrow_f32(const double* in, float* out, int n) { narrow(in, out, n); }
)";

CompiledCode conversions() {
    return compile_or_fail(k_source, {"widen_f16", "widen_bf16", "narrow_f16", "narrow_bf16", "narrow_f32"}, true);
}

LaunchGeometry threads(std::size_t count) {
    return {{static_cast<std::int64_t>(count + 255) / 256, 1, 1}, {256, 1, 1}, 0};
}

void check_all_patterns(const Format& format, const std::string& kernel) {
    const auto device = make_emulator();
    const auto module = device->load(conversions());
    std::vector<std::uint16_t> patterns(65536);
    for (unsigned i = 0; i < 65536; ++i)
        patterns[i] = static_cast<std::uint16_t>(i);
    const Buffer<std::uint16_t> in(*device, patterns);
    const Buffer<double> doubles(*device, 65536);
    const Buffer<float> floats(*device, 65536);
    const Buffer<std::uint16_t> back(*device, 65536);
    launch(*device, *module, kernel, threads(65536), in.pointer(), doubles.pointer(), floats.pointer(), back.pointer(),
           65536);
    const auto wide = doubles.values();
    const auto single = floats.values();
    const auto again = back.values();
    for (unsigned bits = 0; bits < 65536; ++bits) {
        INFO("pattern " << bits);
        const unsigned magnitude = bits & 0x7fffu;
        if (magnitude > format.infinity()) {
            REQUIRE(std::isnan(wide[bits]));
            REQUIRE(std::isnan(single[bits]));
            REQUIRE((again[bits] & 0x7fffu) > format.infinity());
            continue;
        }
        const double expected = magnitude == format.infinity() ? INFINITY : value_of(format, magnitude);
        REQUIRE(wide[bits] == (bits > 0x7fff ? -expected : expected));
        REQUIRE(std::signbit(wide[bits]) == (bits > 0x7fff));
        REQUIRE(double{single[bits]} == wide[bits]);
        REQUIRE(again[bits] == bits);
    }
}

void check_rounding(const Format& format, const std::string& kernel) {
    const auto device = make_emulator();
    const auto module = device->load(conversions());
    const auto values = awkward_values(format);
    const Buffer<double> in(*device, values);
    const Buffer<std::uint16_t> out(*device, values.size());
    launch(*device, *module, kernel, threads(values.size()), in.pointer(), out.pointer(),
           static_cast<int>(values.size()));
    const auto bits = out.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
        INFO("value " << values[i]);
        REQUIRE(bits[i] == nearest(format, values[i]));
    }
}

}  // namespace

TEST_CASE("every f16 pattern has its value and comes back") {
    check_all_patterns(k_f16, "widen_f16");
}
TEST_CASE("every bf16 pattern has its value and comes back") {
    check_all_patterns(k_bf16, "widen_bf16");
}
TEST_CASE("doubles round once to the nearest f16, ties to even") {
    check_rounding(k_f16, "narrow_f16");
}
TEST_CASE("doubles round once to the nearest bf16, ties to even") {
    check_rounding(k_bf16, "narrow_bf16");
}

TEST_CASE("doubles round to float as the processor rounds them") {
    const auto device = make_emulator();
    const auto module = device->load(conversions());
    const std::vector<double> values{1 + 0x1p-24, 1 + 0x1.8p-23, 1e300, -0.0, 0x1p-149 * 0.5, 1.0 / 3};
    const Buffer<double> in(*device, values);
    const Buffer<float> out(*device, values.size());
    launch(*device, *module, "narrow_f32", threads(values.size()), in.pointer(), out.pointer(),
           static_cast<int>(values.size()));
    CHECK(out.values() == std::vector<float>{1, 1 + 0x1p-22f, INFINITY, -0.0f, 0, static_cast<float>(1.0 / 3)});
}

}  // namespace tconv
