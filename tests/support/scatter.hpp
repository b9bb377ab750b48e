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

/// The whole operation in float64, scattering from every input element; `output_size` is PyTorch's formula, written out
/// by the caller.
[[nodiscard]] std::vector<double> scatter(const Problem& p, const Extents& output_size,
                                          const std::vector<double>& input, const std::vector<double>& weight,
                                          const std::vector<double>& bias);

}  // namespace tconv::test
