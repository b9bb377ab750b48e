#include "tests/runtime/scatter.hpp"

#include <limits>
#include <random>

#include "tests/support/scatter.hpp"

namespace tconv {
namespace {

std::vector<float> integers(std::int64_t count, std::mt19937_64& random) {
    std::uniform_int_distribution<int> values(-3, 3);
    std::vector<float> result(static_cast<std::size_t>(count));
    for (float& value : result)
        value = static_cast<float>(values(random));
    return result;
}

}  // namespace

HostTensors random_tensors(const Problem& problem, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    HostTensors tensors;
    tensors.input = integers(input_elements(problem), random);
    tensors.weight = integers(weight_elements(problem), random);
    tensors.bias = integers(bias_elements(problem), random);
    tensors.output.assign(static_cast<std::size_t>(output_elements(problem)), std::numeric_limits<float>::quiet_NaN());
    return tensors;
}

std::vector<float> scatter(const Problem& problem, const HostTensors& tensors) {
    const auto wide = [](const std::vector<float>& values) {
        return std::vector<double>(values.begin(), values.end());
    };
    const std::vector<double> exact =
        test::scatter(problem, output_extents(problem), wide(tensors.input), wide(tensors.weight), wide(tensors.bias));
    std::vector<float> result;
    for (const double value : exact)
        result.push_back(static_cast<float>(value));
    return result;
}

Problem small_problem(std::int64_t batch) {
    Problem problem;
    problem.spatial_axes = 2;
    problem.batch = batch;
    problem.in_channels = 6;
    problem.out_channels = 4;
    problem.groups = 2;
    problem.input = {1, 5, 4};
    problem.kernel = {1, 3, 2};
    problem.stride = {1, 2, 3};
    problem.padding = {0, 1, 0};
    problem.output_padding = {0, 1, 2};
    problem.dilation = {1, 1, 2};
    problem.bias = true;
    return problem;
}

}  // namespace tconv
