#include "tuner/evaluate.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_longest_reason = 2000;

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

OutcomeKind kind_of(CompileFailure failure) {
    switch (failure) {
        case CompileFailure::crashed:
            return OutcomeKind::crashed;
        case CompileFailure::timed_out:
            return OutcomeKind::timeout;
        case CompileFailure::refused:
            break;
    }
    return OutcomeKind::compile_error;
}

}  // namespace

Runnable runnable_plan(Device& device, Module& module, const LaunchPlan& plan, std::int64_t batch) {
    const auto launch_for = [&device, &module, &plan](std::int64_t entries, PlanPart part = PlanPart::all) {
        return [&device, &module, &plan, entries, part](const CallTensors& tensors) {
            launch_plan(device, module, plan, entries, tensors, part);
        };
    };
    Runnable runnable;
    runnable.description = plan.source_file;
    runnable.workspace_bytes = workspace_for(plan, batch);
    runnable.exact_on_integers = plan.exact_on_integers;
    runnable.alignment = plan.alignment;
    runnable.workspace_alignment = workspace_alignment(plan);
    runnable.launch = launch_for(batch);
    const bool packs = plan.packed_weight_bytes > 0;
    if (packs) {
        runnable.packed_weight_bytes = plan.packed_weight_bytes;
        runnable.pack = launch_for(batch, PlanPart::weights_only);
        runnable.launch_packed = launch_for(batch, PlanPart::call);
    }
    // One entry more shows what one less does not: every entry is computed twice, and the grid grows.
    const std::int64_t other = serves_batch(plan, batch + 1) ? batch + 1 : batch - 1;
    if (other > 0) {
        runnable.other_batch = {other, workspace_for(plan, other), launch_for(other), {}};
        if (packs) runnable.other_batch->launch_packed = launch_for(other, PlanPart::call);
    }
    return runnable;
}

BuiltCandidate build_candidate(const Candidate& candidate, Evaluator& evaluator) {
    BuiltCandidate built;
    built.compiled.candidate = candidate;
    Outcome& outcome = built.evaluation.outcome;
    outcome.plan = candidate.plan;
    try {
        check_plan(candidate.plan, candidate.problem, evaluator.device());
    } catch (const Error& error) {
        fail(outcome, OutcomeKind::resource_error, error.what());
        return built;
    }
    CompileResult result = evaluator.builder().take(candidate);
    outcome.compile_milliseconds = result.milliseconds;
    built.ready = result.ok;
    if (result.ok) {
        built.compiled.code = std::move(result.code);
    } else {
        fail(outcome, kind_of(result.failure), result.log);
    }
    return built;
}

Evaluation with_measurement(BuiltCandidate built, Measurement measurement, const DeviceInfo& device) {
    Evaluation result = std::move(built.evaluation);
    Outcome outcome = std::move(measurement.outcome);
    outcome.reason = shortened(outcome.reason);
    outcome.plan = std::move(result.outcome.plan);
    outcome.compile_milliseconds = result.outcome.compile_milliseconds;
    result.code = std::move(built.compiled.code);
    if (device.kind == DeviceKind::cuda) outcome.binary_key = content_hash(result.code.code);
    result.outcome = std::move(outcome);
    result.seconds = measurement.seconds;
    result.device_lost = measurement.device_lost;
    return result;
}

Evaluation evaluate(const Candidate& candidate, Evaluator& evaluator) {
    BuiltCandidate built = build_candidate(candidate, evaluator);
    if (!built.ready) return std::move(built.evaluation);
    Measurement measurement = evaluator.measure(built.compiled);
    return with_measurement(std::move(built), std::move(measurement), evaluator.device());
}

}  // namespace tconv
