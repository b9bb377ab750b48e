#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.hpp"

namespace tconv::test {

/// One axis of a transposed convolution by its definition: every input position i and tap k adds to output i*stride +
/// k*dilation - padding. Outputs beyond `extent` or before 0 are cropped. The visitor gets (input, tap, output).
template <class Visitor>
void scatter_axis(std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                  std::int64_t dilation, std::int64_t extent, Visitor&& visit) {
    for (std::int64_t i = 0; i < input; ++i) {
        for (std::int64_t k = 0; k < kernel; ++k) {
            const std::int64_t o = i * stride + k * dilation - padding;
            if (o >= 0 && o < extent) visit(i, k, o);
        }
    }
}

/// Flat index in N, C, D, H, W or N, D, H, W, C order.
[[nodiscard]] inline std::size_t tensor_index(Layout layout, std::int64_t channels, const Extents& size, std::int64_t n,
                                              std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w) {
    const std::int64_t position = (d * size[1] + h) * size[2] + w;
    const std::int64_t volume = size[0] * size[1] * size[2];
    const std::int64_t index =
        layout == Layout::nchw ? (n * channels + c) * volume + position : (n * volume + position) * channels + c;
    return static_cast<std::size_t>(index);
}

/// Flat index of a weight: its axes c_in, c_out/groups, k... take the places of N, C, spatial.
[[nodiscard]] inline std::size_t weight_index(const Problem& p, std::int64_t ci, std::int64_t j, std::int64_t kd,
                                              std::int64_t kh, std::int64_t kw) {
    return tensor_index(p.layout, p.out_channels / p.groups, p.kernel, ci, j, kd, kh, kw);
}

/// The whole operation in float64, scattering from every input element; `output_size` is PyTorch's formula, written out
/// by the caller.
[[nodiscard]] inline std::vector<double> scatter(const Problem& p, const Extents& output_size,
                                                 const std::vector<double>& input, const std::vector<double>& weight,
                                                 const std::vector<double>& bias) {
    const std::int64_t out_group = p.out_channels / p.groups;
    const std::int64_t in_group = p.in_channels / p.groups;
    const std::int64_t volume = output_size[0] * output_size[1] * output_size[2];
    std::vector<double> output(static_cast<std::size_t>(p.batch * p.out_channels * volume), 0.0);
    const auto axis = [&](std::size_t a, auto&& visit) {
        scatter_axis(p.input[a], p.kernel[a], p.stride[a], p.padding[a], p.dilation[a], output_size[a], visit);
    };
    for (std::int64_t n = 0; n < p.batch; ++n) {
        for (std::int64_t ci = 0; ci < p.in_channels; ++ci) {
            for (std::int64_t j = 0; j < out_group; ++j) {
                const std::int64_t co = ci / in_group * out_group + j;
                axis(0, [&](std::int64_t id, std::int64_t kd, std::int64_t od) {
                    axis(1, [&](std::int64_t ih, std::int64_t kh, std::int64_t oh) {
                        axis(2, [&](std::int64_t iw, std::int64_t kw, std::int64_t ow) {
                            const double x = input[tensor_index(p.layout, p.in_channels, p.input, n, ci, id, ih, iw)];
                            const double w = weight[weight_index(p, ci, j, kd, kh, kw)];
                            output[tensor_index(p.layout, p.out_channels, output_size, n, co, od, oh, ow)] += x * w;
                        });
                    });
                });
            }
        }
    }
    if (!bias.empty()) {
        for (std::size_t i = 0; i < output.size(); ++i) {
            const auto flat = static_cast<std::int64_t>(i);
            const std::int64_t co = p.layout == Layout::nchw ? flat / volume % p.out_channels : flat % p.out_channels;
            output[i] += bias[static_cast<std::size_t>(co)];
        }
    }
    return output;
}

}  // namespace tconv::test
