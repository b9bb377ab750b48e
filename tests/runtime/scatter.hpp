#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.hpp"

namespace tconv {

/// Values of one call. They are small integers, so that every order of summation gives the same float.
struct HostTensors {
    std::vector<float> input, weight, bias, output;
};

/// Random input, weight and bias; the output is filled with NaN.
[[nodiscard]] HostTensors random_tensors(const Problem& problem, std::uint64_t seed);

/// The definition of a transposed convolution, nchw: every input element scatters its products onto the output.
[[nodiscard]] std::vector<float> scatter(const Problem& problem, const HostTensors& tensors);

/// A 2-D problem with groups, a bias, stride, padding, dilation and output padding, other on each axis.
[[nodiscard]] Problem small_problem(std::int64_t batch = 2);

}  // namespace tconv
