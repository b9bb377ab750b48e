#pragma once

#include "tuner/yaml_reader.hpp"

namespace tconv {

/// Reads one launch of a search space's file: its kernel, its geometry and its arguments, tensor maps among them.
[[nodiscard]] LaunchDefinition read_launch(const YamlReader& read, const YAML::Node& node, int line);

}  // namespace tconv
