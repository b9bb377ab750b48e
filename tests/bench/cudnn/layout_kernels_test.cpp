#include "bench/cudnn/layout_kernels.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/support/element_types.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

namespace {

cudnn::LayoutKernels& kernels() {
    static Builder builder(*test::emulated().compiler, test::emulated().device->info());
    static cudnn::LayoutKernels instance(*test::emulated().device, builder);
    return instance;
}

template <class Element>
void check_transpose(DataType type, std::int64_t batch, std::int64_t rows, std::int64_t columns) {
    INFO(batch << " x " << rows << " x " << columns << ", " << sizeof(Element) << " bytes");
    std::vector<Element> values(static_cast<std::size_t>(batch * rows * columns));
    std::iota(values.begin(), values.end(), Element{1});
    const test::OnDevice<Element> source(*test::emulated().device, values);
    const test::OnDevice<Element> target(*test::emulated().device, std::vector<Element>(values.size(), 0));
    kernels().transpose(type, source.address(), target.address(), batch, rows, columns, nullptr);
    test::emulated().device->synchronize();
    std::vector<Element> expected(values.size());
    for (std::int64_t b = 0; b < batch; ++b) {
        for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t c = 0; c < columns; ++c)
                expected[(b * columns + c) * rows + r] = values[(b * rows + r) * columns + c];
        }
    }
    CHECK(target.read() == expected);
    CHECK(source.read() == values);
}

std::uint32_t bits_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

double value_of(DataType type, std::uint32_t bits) {
    if (type != DataType::f32) return test::value_of_bits(type, static_cast<std::uint16_t>(bits));
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// Distance to the next larger value, halved: what rounding to nearest may be off.
double half_step(DataType type, double value) {
    const int fraction_bits = type == DataType::f16 ? 10 : type == DataType::bf16 ? 7 : 23;
    const int smallest = type == DataType::f16 ? -14 : -126;
    const int exponent = value == 0 ? smallest : std::max(std::ilogb(value), smallest);
    return std::ldexp(0.5, exponent - fraction_bits);
}

template <class Element>
void check_bias(DataType type, std::uint64_t seed, std::int64_t count, std::int64_t channels, std::int64_t repeat,
                std::size_t shift) {
    INFO(to_string(type) << " " << count << " elements, " << channels << " channels, repeat " << repeat << ", shift "
                         << shift);
    test::Draw draw(seed);
    const auto number = [&] {
        // Both signs, from the subnormal halves to sums of several thousand.
        const float value =
            std::ldexp(static_cast<float>(draw.between(-999, 999)), static_cast<int>(draw.between(-26, 2)));
        if (type == DataType::f32) return static_cast<Element>(bits_of(value));
        if (type == DataType::bf16) return static_cast<Element>(bits_of(value) >> 16);
        return static_cast<Element>(draw.between(0, 0x77FF) | (draw.chance(50) ? 0x8000 : 0));
    };
    std::vector<Element> data(static_cast<std::size_t>(count) + shift);
    std::vector<Element> bias(static_cast<std::size_t>(channels));
    for (Element& element : data)
        element = number();
    for (Element& element : bias)
        element = number();
    const test::OnDevice<Element> on_device(*test::emulated().device, data);
    const test::OnDevice<Element> bias_on_device(*test::emulated().device, bias);
    kernels().add_bias(type, on_device.address() + shift * sizeof(Element), bias_on_device.address(), count, channels,
                       repeat, nullptr);
    test::emulated().device->synchronize();
    const std::vector<Element> result = on_device.read();
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
        if (i < shift) {
            wrong += result[i] != data[i] ? 1 : 0;
            continue;
        }
        const auto channel = static_cast<std::size_t>(static_cast<std::int64_t>(i - shift) / repeat % channels);
        const double sum = value_of(type, data[i]) + value_of(type, bias[channel]);
        // The sum is rounded to fp32 before it is rounded to 16 bits.
        const double allowed = half_step(type, sum) + (type == DataType::f32 ? 0 : std::abs(sum) * 0x1p-24);
        wrong += std::abs(value_of(type, result[i]) - sum) <= allowed ? 0 : 1;
    }
    CHECK(wrong == 0);
}

std::uint16_t sum_of(DataType type, std::uint16_t a, std::uint16_t b) {
    const test::OnDevice<std::uint16_t> data(*test::emulated().device, {a});
    const test::OnDevice<std::uint16_t> bias(*test::emulated().device, {b});
    kernels().add_bias(type, data.address(), bias.address(), 1, 1, 1, nullptr);
    test::emulated().device->synchronize();
    return data.read().front();
}

}  // namespace

TEST_CASE("matrices of every shape are transposed") {
    test::Draw draw(21);
    for (const std::int64_t rows : {1, 2, 7, 8, 31, 33, 64, 100}) {
        for (const std::int64_t columns : {1, 3, 8, 32, 65, 97}) {
            check_transpose<std::uint32_t>(DataType::f32, draw.between(1, 3), rows, columns);
            check_transpose<std::uint16_t>(DataType::bf16, draw.between(1, 3), rows, columns);
        }
    }
    for (int round = 0; round < test::rounds(10); ++round) {
        check_transpose<std::uint32_t>(DataType::f32, draw.between(1, 4), draw.between(1, 80), draw.between(1, 80));
        check_transpose<std::uint16_t>(DataType::f16, draw.between(1, 4), draw.between(1, 80), draw.between(1, 80));
    }
}

TEST_CASE("a bias is added in both memory orders, aligned or not") {
    test::Draw draw(22);
    std::uint64_t seed = 100;
    for (int round = 0; round < test::rounds(20); ++round) {
        const std::int64_t batch = draw.between(1, 3);
        const std::int64_t channels = draw.chance(50) ? draw.between(1, 20) : 8 * draw.between(1, 5);
        const std::int64_t positions = draw.chance(50) ? draw.between(1, 60) : 8 * draw.between(1, 9);
        const std::size_t shift = draw.chance(70) ? 0 : 1;
        for (const std::int64_t repeat : {positions, std::int64_t{1}}) {
            const std::int64_t count = batch * channels * positions;
            check_bias<std::uint32_t>(DataType::f32, ++seed, count, channels, repeat, shift);
            check_bias<std::uint16_t>(DataType::f16, ++seed, count, channels, repeat, shift);
            check_bias<std::uint16_t>(DataType::bf16, ++seed, count, channels, repeat, shift);
        }
    }
}

TEST_CASE("sums in the middle between two values go to the even one") {
    CHECK(sum_of(DataType::f16, 0x3C00, 0x1000) == 0x3C00);  // 1 + 2^-11
    CHECK(sum_of(DataType::f16, 0x3C01, 0x1000) == 0x3C02);
    CHECK(sum_of(DataType::f16, 0xBC01, 0x9000) == 0xBC02);
    CHECK(sum_of(DataType::bf16, 0x3F80, 0x3B80) == 0x3F80);  // 1 + 2^-8
    CHECK(sum_of(DataType::bf16, 0x3F81, 0x3B80) == 0x3F82);
    CHECK(sum_of(DataType::bf16, 0x3F81, 0x3B81) == 0x3F82);  // beyond the middle
    CHECK(sum_of(DataType::bf16, 0x3F80, 0x3B81) == 0x3F81);
}

TEST_CASE("sums of halves that are too large, infinite or not numbers") {
    const auto sum = [](std::uint16_t a, std::uint16_t b) { return sum_of(DataType::f16, a, b); };
    CHECK(sum(0x7BFF, 0x7BFF) == 0x7C00);  // 65504 + 65504
    CHECK(sum(0x7BFF, 0x4BFF) == 0x7BFF);  // 65504 + 15.992: below the middle to 65536
    CHECK(sum(0x7BFF, 0x4C00) == 0x7C00);  // 65504 + 16: the middle goes to the even one, infinity
    CHECK(sum(0xFBFF, 0xFBFF) == 0xFC00);
    CHECK(sum(0x7C00, 0x3C00) == 0x7C00);
    CHECK(std::isnan(test::value_of_bits(DataType::f16, sum(0x7C00, 0xFC00))));
    CHECK(sum(0x0001, 0x0001) == 0x0002);
    CHECK(sum(0x03FF, 0x0001) == 0x0400);
    CHECK(sum(0x8001, 0x0001) == 0x0000);
}
