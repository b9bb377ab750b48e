#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data_type.hpp"

namespace tconv {

/// Extents over the axes depth, height, width. 1-D and 2-D problems have neutral leading axes.
using Extents = std::array<std::int64_t, 3>;

/// One forward transposed convolution, with the names, defaults and rules of PyTorch's ConvTranspose1d/2d/3d.
/// A value type: fill it in, then call `validate`.
struct Problem {
    int spatial_axes = 2;  ///< 1, 2 or 3: how many trailing entries of the extents the user sees
    std::int64_t batch = 1;
    std::int64_t in_channels = 1;
    std::int64_t out_channels = 1;
    std::int64_t groups = 1;
    Extents input{1, 1, 1};
    Extents kernel{1, 1, 1};
    Extents stride{1, 1, 1};
    Extents padding{0, 0, 0};
    Extents output_padding{0, 0, 0};
    Extents dilation{1, 1, 1};
    bool bias = false;
    DataType dtype = DataType::f32;
    Layout layout = Layout::nchw;

    friend bool operator==(const Problem&, const Problem&) = default;
};

/// Calls `visit(name, member)` for every field, in the order of the key. The database's columns, the key and the
/// printed form all follow this list.
template <class P, class Visitor>
void visit_fields(P& problem, Visitor&& visit) {
    visit("spatial_axes", problem.spatial_axes);
    visit("batch", problem.batch);
    visit("in_channels", problem.in_channels);
    visit("out_channels", problem.out_channels);
    visit("groups", problem.groups);
    visit("input", problem.input);
    visit("kernel", problem.kernel);
    visit("stride", problem.stride);
    visit("padding", problem.padding);
    visit("output_padding", problem.output_padding);
    visit("dilation", problem.dilation);
    visit("bias", problem.bias);
    visit("dtype", problem.dtype);
    visit("layout", problem.layout);
}

/// Throws Error(bad_input) with one sentence naming the field and the rule that it breaks.
void validate(const Problem& problem);

/// Output extents: (input-1)*stride - 2*padding + dilation*(kernel-1) + output_padding + 1 on each axis, as PyTorch
/// documents for ConvTranspose. The problem must be valid.
[[nodiscard]] Extents output_extents(const Problem& problem);

/// The same problem as kernels see it: where an axis has a single input its stride says nothing, and one as long as the
/// reach of the kernel makes a phase of each tap, so that no product is with zeros beside the input alone.
[[nodiscard]] Problem with_lone_inputs_parted(const Problem& problem);

/// Element counts of the four tensors; they fit in 64 bits for a valid problem.
[[nodiscard]] std::int64_t input_elements(const Problem& problem);
[[nodiscard]] std::int64_t weight_elements(const Problem& problem);
[[nodiscard]] std::int64_t bias_elements(const Problem& problem);  ///< 0 without bias
[[nodiscard]] std::int64_t output_elements(const Problem& problem);

/// Place of a weight in memory, in elements: [c_in][c_out/groups][tap] in nchw, [c_in][tap][c_out/groups] in nhwc.
/// `in_channel` counts through all groups, `out_channel` within its group; `tap` is (k_d * kernel_h + k_h) * kernel_w +
/// k_w.
[[nodiscard]] std::int64_t weight_offset(const Problem& problem, std::int64_t in_channel, std::int64_t out_channel,
                                         std::int64_t tap);

/// Multiply-adds counted as two operations, only those whose input lies inside the tensor.
[[nodiscard]] double flops(const Problem& problem);

/// Bytes that must move at least: input, weight and bias read once, output written once.
[[nodiscard]] double minimum_bytes(const Problem& problem);

/// Canonical text, one line, equal exactly when the problems are equal:
/// "3d n8 ci48 co24 g1 i96x96x96 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw".
[[nodiscard]] std::string key(const Problem& problem);

/// The reverse of `key`; throws Error(bad_input).
[[nodiscard]] Problem parse_key(const std::string& text);

/// The user's axes only, joined: "96x96x96", or "131072" for a 1-D problem.
[[nodiscard]] std::string join_extents(const Problem& problem, const Extents& extents);

}  // namespace tconv
