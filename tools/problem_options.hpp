#pragma once

#include <optional>
#include <string>

#include "core/problem.hpp"

namespace CLI {
class App;
}

namespace tconv {

/// The flags that describe a problem, as typed; a flag that was not given is empty.
struct ProblemOptions {
    std::optional<std::string> input;   ///< N x c_in x spatial
    std::optional<std::string> weight;  ///< c_in x c_out/groups x kernel
    std::optional<std::string> stride;  ///< one number for all axes, or one an axis; so the next three
    std::optional<std::string> padding;
    std::optional<std::string> output_padding;
    std::optional<std::string> output_size;
    std::optional<std::string> dilation;
    std::optional<std::string> groups;
    bool bias = false;
    std::string dtype = "f32";
    std::string layout = "nchw";
};

/// Declares the flags on a subcommand, all but --dtype and --layout; `options` must outlive it.
void add_shape_options(CLI::App& command, ProblemOptions& options);
/// Declares --dtype and --layout.
void add_type_options(CLI::App& command, ProblemOptions& options);

/// Whether any flag that describes shapes was given (dtype and layout apply to layer files as well and do not count).
[[nodiscard]] bool describes_shape(const ProblemOptions& options);

/// The problem, validated. Throws Error(bad_input) with one sentence.
[[nodiscard]] Problem parse_problem(const ProblemOptions& options);

}  // namespace tconv
