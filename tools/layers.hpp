#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"

namespace tconv {

/// One layer of a layer file.
struct Layer {
    std::string name;
    std::string group;
    std::string from;  ///< the network or paper that it comes from; may be empty
    Problem problem;
};

/// Reads a layer file (docs/layers.md) with every problem in `dtype` and `layout`. Throws Error(bad_input) as
/// "FILE:LINE: sentence" on anything that the format does not allow.
[[nodiscard]] std::vector<Layer> read_layers(const std::filesystem::path& file, DataType dtype, Layout layout);

/// The same for text; `file` is its name in messages.
[[nodiscard]] std::vector<Layer> parse_layers(const std::string& text, const std::string& file, DataType dtype,
                                              Layout layout);

/// The layers that `names` (layer and group names, separated by commas) picks, in the order of the file. Throws
/// Error(bad_input) when a name is neither, or is empty.
[[nodiscard]] std::vector<Layer> pick_layers(const std::vector<Layer>& layers, std::string_view names);

}  // namespace tconv
