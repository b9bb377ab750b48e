#include "tools/tune_options.hpp"

#include <CLI/CLI.hpp>

#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/layers.hpp"
#include "tools/values.hpp"

namespace tconv {
namespace {

constexpr std::int64_t k_most_trials = 1'000'000'000;

[[noreturn]] void reject(const std::string& sentence) {
    throw Error(ErrorKind::bad_input, sentence);
}

std::vector<Layer> requested_layers(const TuneOptions& options) {
    if (options.layers) {
        if (describes_shape(options.problem))
            reject("--layers takes the problems from a file: it cannot go with --input and the other shape flags");
        const std::vector<Layer> layers =
            read_layers(*options.layers, parse_data_type(options.problem.dtype), parse_layout(options.problem.layout));
        return options.only ? pick_layers(layers, *options.only) : layers;
    }
    if (options.only) reject("--only picks layers of a file: it needs --layers");
    if (!describes_shape(options.problem))
        reject("no problem given: tune needs --input and --weight, or --layers (see tconv tune --help)");
    Layer layer;
    layer.problem = parse_problem(options.problem);
    return {layer};
}

}  // namespace

void add_tune_options(CLI::App& command, TuneOptions& options) {
    add_problem_options(command, options.problem);
    const auto add = [&](const char* group, const char* flag, auto& value, const char* form, const char* help) {
        command.add_option(flag, value, help)->type_name(form)->group(group);
    };
    add("Problem", "--layers", options.layers, "FILE", "Tune the layers of a YAML file instead of one problem");
    add("Problem", "--only", options.only, "NAME,NAME", "Only these layers or groups of the file");
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
    for (const Layer& layer : requested_layers(options)) {
        request.problem = layer.problem;
        request.problem_name = layer.name;
        requests.push_back(request);
    }
    return requests;
}

}  // namespace tconv
