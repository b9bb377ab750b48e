#include "bench/our_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "kernel_sources/reference.hpp"
#include "kernel_sources/sources.hpp"
#include "tuner/local_evaluator.hpp"
#include "tuner/session.hpp"

namespace tconv {
namespace {

std::optional<Trial> tuned_now(const KernelWish& wish, const KernelSource& source, const std::stop_token& stop) {
    TuneRequest request;
    request.problem = wish.problem;
    request.problem_name = wish.name;
    request.tolerance = wish.tolerance;
    request.strict = wish.strict;
    request.trials = std::numeric_limits<std::int64_t>::max();
    request.time_limit_seconds = source.tune_seconds;
    request.seed = source.seed;
    LocalEvaluator evaluator(source.laboratory);
    const TuneEnvironment environment{evaluator, source.database, source.spaces, 0};
    try {
        return tune(request, environment, {}, stop).winner;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::bad_input) throw;
        return std::nullopt;  // no family takes the problem
    }
}

OurKernel load(const Trial& trial, const std::string& binary, const KernelSource& source) {
    Device& device = source.laboratory.device();
    OurKernel kernel;
    kernel.plan = trial.outcome.plan;
    kernel.family = trial.template_name;
    kernel.config = trial.config;
    kernel.rung = trial.template_hash == template_hash(kernel.plan.source_file) ? "exact" : "stale";
    check_plan(kernel.plan, trial.problem, device.info());
    CompiledCode code{binary};
    if (binary.empty()) {
        const Candidate candidate{trial.problem, trial.template_name, trial.config, kernel.plan, 0, 0};
        CompileResult compiled = source.laboratory.builder().take(candidate);
        if (!compiled.ok) throw Error(ErrorKind::compile, fmt::format("the winner does not compile: {}", compiled.log));
        code = std::move(compiled.code);
    }
    kernel.module = device.load(code);
    return kernel;
}

OurKernel reference_kernel(const Problem& problem, const KernelSource& source) {
    OurKernel kernel;
    kernel.plan = reference_plan(problem);
    kernel.family = "reference";
    kernel.rung = "reference";
    CompileResult compiled =
        source.laboratory.builder().build_file(kernel.plan.source_file, {reference_entry(problem.dtype)});
    if (!compiled.ok) throw Error(ErrorKind::compile, compiled.log);
    kernel.module = source.laboratory.device().load(compiled.code);
    return kernel;
}

/// Whether every family's defaults within the accuracy asked for have been tried: sessions begin with them.
bool was_tuned(const KernelWish& wish, const KernelSource& source) {
    const DeviceInfo& device = source.laboratory.device().info();
    std::set<std::pair<std::string, Config>> tried;
    for (const Trial& trial : source.database->trials(wish.problem, device_key(device)))
        tried.emplace(trial.template_name, trial.config);
    return std::all_of(source.spaces.begin(), source.spaces.end(), [&](const SearchSpace& space) {
        if (!space.refusal(wish.problem, device).empty()) return true;
        const std::vector<Config> defaults = space.defaults(wish.problem, device, {wish.tolerance, wish.strict});
        return std::all_of(defaults.begin(), defaults.end(), [&](const Config& config) {
            return tried.contains({space.name(), config});
        });
    });
}

std::optional<Winner> stored_winner(const KernelWish& wish, const KernelSource& source) {
    if (source.database == nullptr) return std::nullopt;
    return source.database->winner(wish.problem, source.laboratory.device().info(), wish.tolerance, wish.strict);
}

}  // namespace

OurKernel find_our_kernel(const KernelWish& wish, const KernelSource& source, const std::stop_token& stop) {
    const std::optional<Winner> stored = stored_winner(wish, source);
    if (source.tune_seconds > 0 && !(stored && was_tuned(wish, source))) {
        if (const auto trial = tuned_now(wish, source, stop)) return load(*trial, {}, source);
    }
    return stored ? load(stored->trial, stored->binary, source) : reference_kernel(wish.problem, source);
}

}  // namespace tconv
