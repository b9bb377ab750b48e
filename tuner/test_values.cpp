#include "tuner/test_values.hpp"

#include <algorithm>
#include <cmath>

#include "core/phases.hpp"

namespace tconv {
namespace {

constexpr double k_exact_in_fp32 = 1 << 24;
constexpr double k_largest_f16 = 65504;
constexpr std::int64_t k_exact_in_every_type = 256;

std::int64_t elements(const Problem& problem, TestTensor tensor) {
    switch (tensor) {
        case TestTensor::input:
            return input_elements(problem);
        case TestTensor::weight:
            return weight_elements(problem);
        case TestTensor::bias:
            break;
    }
    return bias_elements(problem);
}

void set_octaves(TestValues& values, DataType type) {
    // Sums of many products of two tensors stay below f16's largest number.
    values.first_octave = type == DataType::f16 ? -6 : -10;
    values.octaves = type == DataType::f16 ? 10 : 21;
}

void set_pairs(TestValues& values, const Problem& problem, TestTensor tensor) {
    if (tensor == TestTensor::bias) return;
    values.pair_channels = problem.in_channels / problem.groups;
    if (tensor == TestTensor::input) {
        const Extents& size = problem.input;
        values.pair_stride = problem.layout == Layout::nhwc ? 1 : size[0] * size[1] * size[2];
    } else {
        values.pair_stride = weight_elements(problem) / problem.in_channels;
        values.pair_sign = -1;
    }
}

}  // namespace

std::string to_string(Distribution distribution) {
    switch (distribution) {
        case Distribution::normal:
            return "normal";
        case Distribution::uniform:
            return "uniform";
        case Distribution::integers:
            return "integers";
        case Distribution::wide:
            return "wide";
    }
    return "?";
}

std::int64_t longest_sum(const Problem& problem) {
    std::int64_t products = problem.in_channels / problem.groups;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t taps = max_taps(problem.kernel[axis], problem.stride[axis], problem.dilation[axis]);
        products *= std::min(taps, problem.input[axis]);
    }
    return products;
}

std::int64_t integer_range(const Problem& problem) {
    const double limit = problem.dtype == DataType::f16 ? k_largest_f16 : k_exact_in_fp32 - 1;
    const auto products = static_cast<double>(longest_sum(problem));
    // The largest r with products * r * r + r <= limit.
    const double root = (std::sqrt(1 + 4 * products * limit) - 1) / (2 * products);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(root), 1, k_exact_in_every_type);
}

bool integers_are_exact(const Problem& problem) {
    return static_cast<double>(longest_sum(problem)) + 1 < k_exact_in_fp32;
}

TestValues test_values(const Problem& problem, Distribution distribution, TestTensor tensor) {
    TestValues values;
    values.distribution = static_cast<std::int64_t>(distribution);
    values.period = std::max<std::int64_t>(elements(problem, tensor), 1);
    values.range = integer_range(problem);
    set_octaves(values, problem.dtype);
    set_pairs(values, problem, tensor);
    return values;
}

}  // namespace tconv
