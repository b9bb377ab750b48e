#pragma once

#include <cstdint>
#include <string_view>

namespace tconv {

/// Element type of input, weight, bias and output.
enum class DataType { f32, f16, bf16 };

/// Memory order of input, output and weight. The weight is c_in x c_out/groups x k..., with c_in in the place of N.
enum class Layout {
    nchw,  ///< PyTorch's contiguous: N, C, then the spatial axes
    nhwc,  ///< PyTorch's channels_last: N, the spatial axes, then C
};

[[nodiscard]] std::int64_t size_in_bytes(DataType type);
[[nodiscard]] std::string_view to_string(DataType type);
[[nodiscard]] std::string_view to_string(Layout layout);

/// Parses "f32", "f16" or "bf16"; throws Error(bad_input) naming the accepted values.
[[nodiscard]] DataType parse_data_type(std::string_view text);

/// Parses "nchw" or "nhwc"; throws Error(bad_input) naming the accepted values.
[[nodiscard]] Layout parse_layout(std::string_view text);

/// Largest error (see `ErrorMeasure`) that a winner may have unless the user says otherwise.
[[nodiscard]] double default_tolerance(DataType type);

}  // namespace tconv
