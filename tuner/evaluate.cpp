#include "tuner/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace tconv {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t k_longest_reason = 2000;
constexpr double k_cold_milliseconds = 1;  // a first launch may also bring the code to the device

std::string shortened(std::string text) {
    if (text.size() > k_longest_reason) text = text.substr(0, k_longest_reason) + " ...";
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.pop_back();
    return text;
}

void fail(Outcome& outcome, OutcomeKind kind, const std::string& reason) {
    outcome.kind = kind;
    outcome.reason = shortened(reason);
}

/// Registers, spills and occupancy of the last launch of the plan, which does the work.
KernelResources resources_of(Device& device, Module& module, const LaunchPlan& plan) {
    const Launch& launch = plan.launches.back();
    return device.resources(module, launch.kernel, {launch.grid, launch.block, launch.shared_bytes});
}

void validate_and_time(const Candidate& candidate, const Runnable& runnable, const Bench& bench, Outcome& outcome) {
    const double best = candidate.best_milliseconds;
    const double hopeless = best > 0 ? std::max(best * k_hopeless_factor, best + k_cold_milliseconds) : 0;
    bench.validator.validate(runnable, candidate.tolerance, outcome, hopeless);
    if (outcome.kind != OutcomeKind::valid) return;
    const CallTensors tensors = bench.validator.timing_tensors(runnable.workspace_bytes);
    outcome.timing = bench.timer.time([&] { runnable.launch(tensors); }, best);
}

void load_validate_time(const Candidate& candidate, const Bench& bench, Evaluation& result) {
    Outcome& outcome = result.outcome;
    std::unique_ptr<Module> module;
    try {
        module = bench.device.load(result.code);
        outcome.resources = resources_of(bench.device, *module, candidate.plan);
    } catch (const Error& error) {
        fail(outcome, OutcomeKind::resource_error, error.what());
        return;
    }
    if (bench.device.info().kind == DeviceKind::cuda && outcome.resources.blocks_per_multiprocessor == 0) {
        fail(outcome, OutcomeKind::resource_error,
             fmt::format("no block fits on a multiprocessor: {} registers a thread, {} bytes of shared memory",
                         outcome.resources.registers, candidate.plan.launches.back().shared_bytes));
        return;
    }
    const Clock::time_point start = Clock::now();
    const Runnable runnable = runnable_plan(bench.device, *module, candidate.plan, candidate.problem.batch);
    validate_and_time(candidate, runnable, bench, outcome);
    result.device_seconds = std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Runnable runnable_plan(Device& device, Module& module, const LaunchPlan& plan, std::int64_t batch) {
    const auto launch_for = [&device, &module, &plan](std::int64_t entries) {
        return [&device, &module, &plan, entries](const CallTensors& tensors) {
            launch_plan(device, module, plan, entries, tensors);
        };
    };
    Runnable runnable;
    runnable.description = plan.source_file;
    runnable.workspace_bytes = workspace_for(plan, batch);
    runnable.alignment = plan.alignment;
    runnable.workspace_alignment = workspace_alignment(plan);
    runnable.launch = launch_for(batch);
    // One entry more shows what one less does not: every entry is computed twice, and the grid grows.
    const std::int64_t other = serves_batch(plan, batch + 1) ? batch + 1 : batch - 1;
    if (other > 0) runnable.other_batch = {other, workspace_for(plan, other), launch_for(other)};
    return runnable;
}

Evaluation evaluate(const Candidate& candidate, const Bench& bench) {
    Evaluation result;
    result.outcome.plan = candidate.plan;
    try {
        check_plan(candidate.plan, candidate.problem, bench.device.info());
    } catch (const Error& error) {
        fail(result.outcome, OutcomeKind::resource_error, error.what());
        return result;
    }
    CompileResult compiled = bench.builder.take(candidate);
    result.outcome.compile_milliseconds = compiled.milliseconds;
    if (!compiled.ok) {
        fail(result.outcome, OutcomeKind::compile_error, compiled.log);
        return result;
    }
    result.code = std::move(compiled.code);
    if (bench.device.info().kind == DeviceKind::cuda) result.outcome.binary_key = content_hash(result.code.code);
    try {
        load_validate_time(candidate, bench, result);
    } catch (const std::exception& error) {
        fail(result.outcome, OutcomeKind::launch_error, error.what());
    }
    return result;
}

}  // namespace tconv
