#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tconv {

/// A kernel configuration: named integer parameters, stored and compared by name and value.
using Config = std::map<std::string, std::int64_t>;

/// Canonical JSON object, names ascending, no spaces: {"block_size":128,"tile_w":32}.
[[nodiscard]] std::string to_json(const Config& config);

/// The reverse; throws Error(bad_input) when it is no flat object of integers.
[[nodiscard]] Config config_from_json(const std::string& text);

/// For people: "block_size=128 tile_w=32".
[[nodiscard]] std::string to_string(const Config& config);

}  // namespace tconv
