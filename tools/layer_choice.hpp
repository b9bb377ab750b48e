#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/layers.hpp"
#include "tools/problem_options.hpp"

namespace tconv {

/// The flags that say which layers a command works on, as typed: those of a file, or one described by its shapes.
struct LayerChoice {
    ProblemOptions problem;
    std::optional<std::string> layers;  ///< layer file
    std::optional<std::string> only;    ///< names of layers and groups
};

/// Declares the flags on a subcommand, without --dtype and --layout; `choice` must outlive it.
void add_layer_options(CLI::App& command, LayerChoice& choice);

/// The layers chosen, with the type and layout of `choice.problem`; one described by its shapes has no name. Throws
/// Error(bad_input).
[[nodiscard]] std::vector<Layer> chosen_layers(const LayerChoice& choice);

}  // namespace tconv
