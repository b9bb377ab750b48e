#include "tests/runtime/scatter.hpp"

#include <limits>
#include <random>

namespace tconv {
namespace {

std::vector<float> integers(std::int64_t count, std::mt19937_64& random) {
    std::uniform_int_distribution<int> values(-3, 3);
    std::vector<float> result(static_cast<std::size_t>(count));
    for (float& value : result)
        value = static_cast<float>(values(random));
    return result;
}

std::int64_t flat(const Extents& at, const Extents& size) {
    return (at[0] * size[1] + at[1]) * size[2] + at[2];
}

template <class Visit>
void for_each_position(const Extents& size, Visit&& visit) {
    for (std::int64_t d = 0; d < size[0]; ++d) {
        for (std::int64_t h = 0; h < size[1]; ++h) {
            for (std::int64_t w = 0; w < size[2]; ++w)
                visit(Extents{d, h, w});
        }
    }
}

std::int64_t volume(const Extents& size) {
    return size[0] * size[1] * size[2];
}

// Adds one input channel's products with one filter to one output channel.
void scatter_channel(const Problem& p, const Extents& output, const float* input, const float* weight, float* result) {
    for_each_position(p.input, [&](const Extents& i) {
        for_each_position(p.kernel, [&](const Extents& k) {
            Extents o{};
            bool inside = true;
            for (std::size_t axis = 0; axis < 3; ++axis) {
                o[axis] = i[axis] * p.stride[axis] - p.padding[axis] + k[axis] * p.dilation[axis];
                inside = inside && o[axis] >= 0 && o[axis] < output[axis];
            }
            if (inside) result[flat(o, output)] += input[flat(i, p.input)] * weight[flat(k, p.kernel)];
        });
    });
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

std::vector<float> scatter(const Problem& p, const HostTensors& tensors) {
    const Extents output = output_extents(p);
    const std::int64_t in_group = p.in_channels / p.groups;
    const std::int64_t out_group = p.out_channels / p.groups;
    std::vector<float> result(tensors.output.size());
    for (std::int64_t n = 0; n < p.batch; ++n) {
        for (std::int64_t co = 0; co < p.out_channels; ++co) {
            float* channel = result.data() + (n * p.out_channels + co) * volume(output);
            const std::int64_t group = co / out_group;
            for (std::int64_t ci = group * in_group; ci < (group + 1) * in_group; ++ci) {
                scatter_channel(p, output, tensors.input.data() + (n * p.in_channels + ci) * volume(p.input),
                                tensors.weight.data() + (ci * out_group + co % out_group) * volume(p.kernel), channel);
            }
            for (std::int64_t i = 0; i < volume(output) && p.bias; ++i)
                channel[i] += tensors.bias[static_cast<std::size_t>(co)];
        }
    }
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
