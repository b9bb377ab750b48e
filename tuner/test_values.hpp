#pragma once

#include <cstdint>
#include <string>

#include "core/problem.hpp"

namespace tconv {

/// Random inputs; the numbers are those of support.cu.
enum class Distribution : int {
    normal = 0,
    uniform = 1,   ///< [0, 1)
    integers = 2,  ///< so small that every result is exact
    wide = 3,      ///< magnitudes over many octaves, both signs, sums that cancel
};

[[nodiscard]] std::string to_string(Distribution distribution);

/// The tensors that are drawn.
enum class TestTensor : int { input = 0, weight = 1, bias = 2 };

/// How one tensor is drawn: the struct `Values` of support.cu, which explains the fields.
struct TestValues {
    std::int64_t distribution = 0;
    std::int64_t period = 1;
    std::int64_t range = 1;
    std::int64_t first_octave = 0, octaves = 1;
    std::int64_t pair_stride = 0, pair_channels = 1, pair_sign = 1;
};

/// Elements repeat after those of the problem's batch: entries beyond it are the first ones again.
[[nodiscard]] TestValues test_values(const Problem& problem, Distribution distribution, TestTensor tensor);

/// The most products that one output adds up.
[[nodiscard]] std::int64_t longest_sum(const Problem& problem);

/// The largest size of the integers whose sums stay below 2^24 for this problem, so that fp32 adds them without an
/// error in any order, and within f16's range where that is the type; at most 256, which every type holds exactly, and
/// at least 1.
[[nodiscard]] std::int64_t integer_range(const Problem& problem);

/// Whether sums of integers of `integer_range` are exact: all but those of more than 2^24 products.
[[nodiscard]] bool integers_are_exact(const Problem& problem);

}  // namespace tconv
