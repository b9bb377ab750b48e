#include "bench/cudnn/convolution.hpp"

#include <fmt/format.h>

#include <array>

namespace tconv::cudnn {
namespace {

constexpr std::array<const char*, 3> k_axis_names{"depth", "height", "width"};

Tensor packed(std::vector<std::int64_t> extents, Layout order) {
    Tensor tensor;
    tensor.strides.resize(extents.size());
    std::int64_t step = 1;
    if (order == Layout::nhwc) {
        tensor.strides[1] = step;
        step *= extents[1];
    }
    for (std::size_t axis = extents.size(); axis-- > 2;) {
        tensor.strides[axis] = step;
        step *= extents[axis];
    }
    if (order == Layout::nchw) {
        tensor.strides[1] = step;
        step *= extents[1];
    }
    tensor.strides[0] = step;
    tensor.extents = std::move(extents);
    return tensor;
}

bool without_effect(const Problem& p, std::size_t axis) {
    return p.input[axis] == 1 && p.kernel[axis] == 1 && p.stride[axis] == 1 && p.padding[axis] == 0 &&
           p.output_padding[axis] == 0;
}

}  // namespace

std::size_t dropped_axes(const Problem& problem) {
    return without_effect(problem, 0) ? 1 : 0;
}

std::string inexpressible(const Problem& p) {
    if (p.batch == 0) return "cuDNN takes no empty tensors: the batch is 0.";
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (p.output_padding[axis] < p.stride[axis]) continue;
        // The convolution of an output so large would have more results than our input has entries.
        return fmt::format(
            "cuDNN cannot express an output_padding ({}) that is not smaller than the stride ({}) on its axis ({}).",
            p.output_padding[axis], p.stride[axis], k_axis_names[axis]);
    }
    return {};
}

Convolution convolution_of(const Problem& p, Layout tensors, Layout weight) {
    const std::size_t first = dropped_axes(p);
    const auto kept = [&](const Extents& extents) {
        return std::vector<std::int64_t>(extents.begin() + static_cast<std::ptrdiff_t>(first), extents.end());
    };
    const auto shaped = [&](std::int64_t outer, std::int64_t channels, const Extents& extents) {
        std::vector<std::int64_t> all{outer, channels};
        for (const std::int64_t extent : kept(extents))
            all.push_back(extent);
        return all;
    };
    Convolution convolution;
    convolution.input = packed(shaped(p.batch, p.in_channels, p.input), tensors);
    convolution.weight = packed(shaped(p.in_channels, p.out_channels / p.groups, p.kernel), weight);
    convolution.output = packed(shaped(p.batch, p.out_channels, output_extents(p)), tensors);
    convolution.bias = packed(shaped(1, p.out_channels, {1, 1, 1}), tensors);
    convolution.stride = kept(p.stride);
    convolution.padding = kept(p.padding);
    convolution.dilation = kept(p.dilation);
    return convolution;
}

}  // namespace tconv::cudnn
