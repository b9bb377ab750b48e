#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config.hpp"
#include "core/launch_plan.hpp"
#include "tuner/search_space.hpp"

namespace tconv {

/// An expression as written in a file.
struct Formula {
    std::string text;
    int line = 0;
    std::vector<std::string> names;  ///< that the text uses
};

/// A rule over names; `because` is empty where the file gives no reason.
struct Rule {
    Formula formula;
    std::string because;
};

struct DerivedQuantity {
    std::string name;
    Formula value;
    bool constant = false;  ///< handed to the kernel's prelude
};

/// A tensor map as written in a file: the numbers are expressions.
struct MapDefinition {
    ArgumentKind of = ArgumentKind::input;
    std::string element;  ///< "dtype": the problem's; else a name of MapElement
    std::vector<Formula> extents;
    std::vector<Formula> strides;
    std::vector<Formula> box;
    Formula swizzle;
    Formula batch_dimension;
    Formula l2_promotion;
};

struct ArgumentDefinition {
    ArgumentKind kind = ArgumentKind::input;
    std::optional<Formula> offset;  ///< workspace, packed_weight and tensor_map only
    std::vector<Formula> values;    ///< values only
    std::optional<MapDefinition> map;
};

struct LaunchDefinition {
    std::string kernel;
    std::array<Formula, 3> grid;
    std::array<Formula, 3> block;
    int batch_axis = -1;
    Formula when;  ///< the launch is left out where this is 0
    Formula batch_tile;
    bool weights_only = false;
    Formula overlaps;  ///< not 0: see Launch
    Formula cluster;
    Formula shared_bytes;
    Formula alignment;
    std::vector<ArgumentDefinition> arguments;
};

struct DefaultConfig {
    Config config;
    int line = 0;
};

/// One search space file, as read.
struct SpaceDefinition {
    std::string file;
    std::string family;
    int family_line = 0;
    std::string template_file;
    std::string description;
    std::vector<Rule> applies;
    std::vector<Parameter> parameters;
    std::vector<DerivedQuantity> derived;
    std::vector<Rule> constraints;
    std::vector<LaunchDefinition> launches;
    Formula workspace_bytes;
    Formula workspace_bytes_per_batch;
    Formula workspace_batch_tile;
    Formula packed_weight_bytes;
    std::vector<DefaultConfig> defaults;
    Formula error;              ///< largest relative error that a config is expected to have
    Rule strict;                ///< 1: plain fp32 arithmetic (or better) alone
    Formula exact_on_integers;  ///< 1: sums of small integers come out exact
    Formula time;               ///< guessed, in any unit
    Formula compile_seconds;    ///< what its compilation is guessed to take
};

/// Reads a file's keys and values, and the names that each expression uses. Throws Error(bad_input) as "FILE:LINE:
/// sentence" for whatever can be told without knowing what the names mean.
[[nodiscard]] SpaceDefinition read_space_definition(const std::string& text, const std::string& file);

/// What to evaluate once the first n parameters have values (n = the index here): an index into the definition, or one
/// of the three quantities that a demand can limit.
struct ScheduleStep {
    enum class Kind { derived, constraint, error, strict, compile_seconds };
    Kind kind = Kind::derived;
    std::size_t index = 0;  ///< of a derived quantity or constraint
};
using Schedule = std::vector<std::vector<ScheduleStep>>;

/// Checks what the names mean (unknown names, circles, faulty defaults) and orders constraints and derived quantities.
/// Throws Error(bad_input) as "FILE:LINE: sentence".
[[nodiscard]] Schedule schedule_space(const SpaceDefinition& space);

/// Throws Error(bad_input): "FILE:LINE: sentence".
[[noreturn]] void fail_at(const std::string& file, int line, const std::string& sentence);

}  // namespace tconv
