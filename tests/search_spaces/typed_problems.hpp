#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/support/random_problem.hpp"

namespace tconv::test {

/// Random problems in every type and layout, some with more channels than a tile takes.
[[nodiscard]] inline Problem draw_typed_problem(Draw& draw) {
    constexpr std::array types{DataType::f32, DataType::f16, DataType::bf16};
    Problem p = draw_problem(draw);
    p.dtype = types[static_cast<std::size_t>(draw.between(0, 2))];
    p.layout = draw.chance(50) ? Layout::nchw : Layout::nhwc;
    if (draw.chance(40)) {
        p.in_channels = p.groups * draw.between(1, 40);
        p.out_channels = p.groups * draw.between(1, 20);
    }
    return p;
}

/// Random problems in every type and layout, with as many channels as the tensor cores of compute capability 9.0 ask
/// for.
[[nodiscard]] inline Problem draw_wide_problem(Draw& draw) {
    constexpr std::array types{DataType::f32, DataType::f16, DataType::bf16};
    Problem p = draw_problem(draw);
    p.in_channels = p.groups * draw.between(16, p.groups == 1 ? 150 : 80);
    p.out_channels = p.groups * draw.between(8, p.groups == 1 ? 90 : 40);
    if (draw.chance(40)) p.in_channels = p.groups * 64;
    if (draw.chance(40)) p.out_channels = p.groups * 8 * draw.between(1, 8);
    p.dtype = types[static_cast<std::size_t>(draw.between(0, 2))];
    p.layout = draw.chance(50) ? Layout::nchw : Layout::nhwc;
    return p;
}

/// Random upsampling layers: kernel = stride, so that no tap shifts the input.
[[nodiscard]] inline Problem draw_upsampling(Draw& draw) {
    Problem p = draw_wide_problem(draw);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        p.kernel[axis] = p.stride[axis];
        const std::int64_t largest_padding = std::max<std::int64_t>(p.stride[axis] * p.input[axis] / 2 - 1, 0);
        p.padding[axis] = std::min(p.padding[axis], largest_padding);
        p.dilation[axis] = 1;
        p.output_padding[axis] = 0;
    }
    return p;
}

/// Random layers on channels-last 16-bit tensors.
[[nodiscard]] inline Problem draw_channels_last(Draw& draw) {
    Problem p = draw_wide_problem(draw);
    p.dtype = draw.chance(50) ? DataType::f16 : DataType::bf16;
    p.layout = Layout::nhwc;
    return p;
}

}  // namespace tconv::test
