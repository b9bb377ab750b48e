#include "tools/tune_options.hpp"

#include <CLI/CLI.hpp>

#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/values.hpp"

namespace tconv {
namespace {

constexpr std::int64_t k_most_trials = 1'000'000'000;

}  // namespace

void add_tune_options(CLI::App& command, TuneOptions& options) {
    add_layer_options(command, options.layers);
    add_type_options(command, options.layers.problem);
    const auto add = [&](const char* group, const char* flag, auto& value, const char* form, const char* help) {
        command.add_option(flag, value, help)->type_name(form)->group(group);
    };
    add("Search", "--tolerance", options.tolerance, "X",
        "Largest error of a winner (default: 1e-4 for f32, 2e-3 for f16, 1.6e-2 for bf16)");
    add("Search", "--device", options.device, "auto|cuda:N|emulator",
        "Where to run; auto: the first CUDA device, else the emulator (default auto)");
    add("Search", "--trials", options.trials, "N", "Candidates to look at, stored ones included (default 200)");
    add("Search", "--time-limit", options.time_limit, "TIME", "Longest time a problem, in s, m or ms (default 60s)");
    add("Search", "--seed", options.seed, "S", "Seed of the search (default 1)");
    add_database_option(command, options.database);
    command.add_flag("--json", options.json, "Print one JSON document instead of tables");
}

std::vector<TuneRequest> make_requests(const TuneOptions& options) {
    TuneRequest request;
    if (options.tolerance) request.tolerance = parse_tolerance("--tolerance", *options.tolerance);
    request.trials = parse_integer("--trials", options.trials, 1, k_most_trials);
    request.time_limit_seconds = parse_duration("--time-limit", options.time_limit);
    request.seed = parse_seed("--seed", options.seed);
    std::vector<TuneRequest> requests;
    for (const Layer& layer : chosen_layers(options.layers)) {
        request.problem = layer.problem;
        request.problem_name = layer.name;
        requests.push_back(request);
    }
    return requests;
}

}  // namespace tconv
