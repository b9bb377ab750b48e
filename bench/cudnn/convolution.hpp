#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.hpp"

namespace tconv::cudnn {

/// Extents and strides in elements, both in the order N, C, spatial axes, whatever the order in memory.
struct Tensor {
    std::vector<std::int64_t> extents, strides;
};

/// A transposed convolution in cuDNN's words: the gradient of a convolution by its input. Our input is the gradient of
/// that convolution's result, our output the gradient of its input; the weight [c_in, c_out/groups, k...] is its filter
/// as it stands. Groups follow from the channels.
struct Convolution {
    Tensor input, weight, output;
    Tensor bias;  ///< 1, C, 1...
    std::vector<std::int64_t> stride, padding, dilation;
};

/// Leading axes of the problem without effect that cuDNN need not see; it wants two spatial axes or more.
[[nodiscard]] std::size_t dropped_axes(const Problem& problem);

/// Why cuDNN cannot express the problem: one sentence, or nothing.
[[nodiscard]] std::string inexpressible(const Problem& problem);

/// The problem with tensors and weight in these memory orders. The problem must be valid and expressible.
[[nodiscard]] Convolution convolution_of(const Problem& problem, Layout tensors, Layout weight);

}  // namespace tconv::cudnn
