#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/device_choice.hpp"
#include "tools/format.hpp"
#include "tools/problem_options.hpp"
#include "tuner/search_space.hpp"

namespace tconv {
namespace {

struct SpacesOptions {
    std::string name;
    ProblemOptions problem;
    std::string device = "auto";
};

/// Combinations before any constraint.
double full_product(const SearchSpace& space) {
    double product = 1;
    for (const Parameter& parameter : space.parameters())
        product *= static_cast<double>(parameter.values.size());
    return product;
}

/// Counting goes no further: a space of a large problem has billions of configs.
constexpr std::int64_t k_most_counted = 10000;

std::int64_t count_valid(const SearchSpace& space, const Problem& problem, const DeviceInfo& device) {
    std::int64_t count = 0;
    space.enumerate(problem, device, [&](const Config&) {
        ++count;
        return count <= k_most_counted;
    });
    return count;
}

void print_space(const SearchSpace& space) {
    fmt::print("{} ({}): {}\n", space.name(), space.template_file(), one_line(space.description()));
    fmt::print("  {} parameters, {:.3g} combinations before constraints\n", space.parameters().size(),
               full_product(space));
}

void print_parameters(const SearchSpace& space) {
    std::vector<std::vector<std::string>> rows{{"  parameter", "values", "meaning"}};
    for (const Parameter& parameter : space.parameters()) {
        rows.push_back({"  " + parameter.name, fmt::format("{}", fmt::join(parameter.values, " ")),
                        one_line(parameter.description)});
    }
    fmt::print("{}", align_columns(rows, 0));
}

void print_count(const SearchSpace& space, const Problem& problem, const DeviceInfo& device) {
    const std::string refusal = space.refusal(problem, device);
    if (!refusal.empty()) {
        fmt::print("  does not take this problem: {}\n", one_line(refusal));
        return;
    }
    const std::int64_t count = count_valid(space, problem, device);
    fmt::print("  {}{} valid configs\n", count > k_most_counted ? "more than " : "", std::min(count, k_most_counted));
    std::fflush(stdout);
}

void run_spaces(const SpacesOptions& options) {
    std::optional<Problem> problem;
    if (describes_shape(options.problem)) problem = parse_problem(options.problem);
    std::optional<DeviceInfo> device;
    if (problem) device = device_facts(choose_device(options.device));
    const std::vector<SearchSpace> spaces = load_search_spaces();
    if (problem) fmt::print("{} on {}\n\n", key(*problem), device_key(*device));
    bool found = false;
    for (const SearchSpace& space : spaces) {
        if (!options.name.empty() && space.name() != options.name) continue;
        found = true;
        print_space(space);
        if (!options.name.empty()) print_parameters(space);
        if (problem) print_count(space, *problem, *device);
    }
    if (found) return;
    std::vector<std::string> names;
    std::transform(spaces.begin(), spaces.end(), std::back_inserter(names), [](const auto& s) { return s.name(); });
    throw Error(ErrorKind::bad_input,
                fmt::format("search space ({}) must be one of {}", shown(options.name), fmt::join(names, ", ")));
}

}  // namespace

void add_spaces_command(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("spaces", "Show the search spaces; with a problem, count the configs that are valid for it");
    const auto options = std::make_shared<SpacesOptions>();
    command->add_option("name", options->name, "Show this family's parameters");
    add_shape_options(*command, options->problem);
    add_type_options(*command, options->problem);
    command->add_option("--device", options->device, "Device whose limits count (default auto)")
        ->type_name("auto|cuda:N|emulator");
    command->callback([options] { run_spaces(*options); });
}

}  // namespace tconv
