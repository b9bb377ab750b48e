#include "tools/tune_options.hpp"

#include <CLI/CLI.hpp>

#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/values.hpp"

namespace tconv {
namespace {

constexpr std::int64_t k_most_memory_mebibytes = std::int64_t{1} << 24;
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
    command
        .add_flag("--strict", options.strict,
                  "Plain fp32 arithmetic alone (16-bit tensors: on values converted to fp32)")
        ->group("Search");
    add("Search", "--device", options.device, "auto|cuda:N|emulator",
        "Where to run; auto: the first CUDA device, else the emulator (default auto)");
    add("Search", "--trials", options.trials, "N", "Candidates to look at, stored ones included (default 200)");
    add("Search", "--time-limit", options.time_limit, "TIME", "Longest time a problem, in s, m or ms (default 60s)");
    add("Search", "--seed", options.seed, "S", "Seed of the search (default 1)");
    add("Workers", "--compile-limit", options.compile_limit, "TIME", "Longest time of one compilation (default 2m)");
    add("Workers", "--run-limit", options.run_limit, "TIME", "Longest time of one launch (default 10s)");
    add("Workers", "--validation-limit", options.validation_limit, "TIME",
        "Longest time of all launches and checks of a candidate (default 2m)");
    add("Workers", "--memory-limit", options.memory_limit, "MIB",
        "Host memory in MiB that a worker may take (default 16384)");
    add("Workers", "--device-memory-limit", options.device_memory_limit, "MIB",
        "Device memory in MiB that candidates and their tensors may take (default: nine tenths of the device's)");
    command.add_flag("--in-process", options.in_process, "Run candidates in this process: nothing contains a crash")
        ->group("Workers");
    add_database_option(command, options.database);
    command.add_flag("--json", options.json, "Print one JSON document instead of tables");
}

WorkerLimits worker_limits(const TuneOptions& options) {
    WorkerLimits limits;
    limits.compile_seconds = parse_duration("--compile-limit", options.compile_limit);
    limits.run_seconds = parse_duration("--run-limit", options.run_limit);
    limits.validation_seconds = parse_duration("--validation-limit", options.validation_limit);
    limits.memory_bytes = parse_integer("--memory-limit", options.memory_limit, 64, k_most_memory_mebibytes) << 20;
    return limits;
}

std::vector<TuneRequest> make_requests(const TuneOptions& options) {
    TuneRequest request;
    if (options.tolerance) request.tolerance = parse_tolerance("--tolerance", *options.tolerance);
    request.strict = options.strict;
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
