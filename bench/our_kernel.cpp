#include "bench/our_kernel.hpp"

#include <fmt/format.h>

#include <limits>

#include "core/error.hpp"
#include "kernel_sources/reference.hpp"
#include "kernel_sources/sources.hpp"
#include "tuner/local_evaluator.hpp"
#include "tuner/session.hpp"

namespace tconv {
namespace {

std::optional<Trial> tuned_now(const Problem& problem, const std::string& name, double tolerance,
                               const KernelSource& source, const std::stop_token& stop) {
    TuneRequest request;
    request.problem = problem;
    request.problem_name = name;
    request.tolerance = tolerance;
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

}  // namespace

OurKernel find_our_kernel(const Problem& problem, const std::string& name, double tolerance, const KernelSource& source,
                          const std::stop_token& stop) {
    if (source.database != nullptr) {
        if (const auto winner = source.database->winner(problem, source.laboratory.device().info(), tolerance))
            return load(winner->trial, winner->binary, source);
    }
    if (source.tune_seconds > 0) {
        if (const auto trial = tuned_now(problem, name, tolerance, source, stop)) return load(*trial, {}, source);
    }
    return reference_kernel(problem, source);
}

}  // namespace tconv
