#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>

#include "core/problem.hpp"

namespace tconv::test {

/// Seeded source of small random things.
class Draw {
public:
    explicit Draw(std::uint64_t seed) : random_(seed) {}
    /// Uniform in [low, high].
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool chance(int percent) { return between(1, 100) <= percent; }

private:
    std::mt19937_64 random_;
};

/// Rounds of a property test: `normal` in every run, more where TCONV_TEST_ROUNDS (a factor) is set.
[[nodiscard]] inline int rounds(int normal) {
    const char* factor = std::getenv("TCONV_TEST_ROUNDS");
    return factor == nullptr ? normal : normal * std::max(1, std::atoi(factor));
}

/// Small axis parameters over everything that the rules allow, also paddings that crop whole rows, strides larger than
/// the kernel, common factors of stride and dilation. False where the output would be empty.
[[nodiscard]] inline bool draw_axis(Draw& draw, Problem& p, std::size_t axis, std::int64_t largest_input) {
    p.input[axis] = draw.between(1, largest_input);
    p.kernel[axis] = draw.between(1, 5);
    p.stride[axis] = draw.between(1, 4);
    p.dilation[axis] = draw.between(1, 4);
    p.padding[axis] = draw.between(0, 4);
    p.output_padding[axis] = draw.between(0, std::max(p.stride[axis], p.dilation[axis]) - 1);
    const std::int64_t output = (p.input[axis] - 1) * p.stride[axis] - 2 * p.padding[axis] +
                                p.dilation[axis] * (p.kernel[axis] - 1) + p.output_padding[axis] + 1;
    return output >= 1;
}

/// A valid problem of 1 to 3 axes with few channels; unequal in everything as a rule.
[[nodiscard]] inline Problem draw_problem(Draw& draw) {
    Problem p;
    p.spatial_axes = static_cast<int>(draw.between(1, 3));
    p.groups = draw.chance(60) ? 1 : draw.between(2, 3);
    p.in_channels = p.groups * draw.between(1, p.groups == 1 ? 9 : 3);
    p.out_channels = p.groups * draw.between(1, p.groups == 1 ? 9 : 3);
    p.batch = draw.between(1, 3);
    p.bias = draw.chance(50);
    const std::int64_t largest = p.spatial_axes == 1 ? 40 : p.spatial_axes == 2 ? 9 : 5;
    for (auto axis = static_cast<std::size_t>(3 - p.spatial_axes); axis < 3; ++axis) {
        while (!draw_axis(draw, p, axis, largest)) {
        }
    }
    return p;
}

}  // namespace tconv::test
