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

Evaluation evaluate(const Candidate& candidate, Evaluator& evaluator) {
    Evaluation result;
    result.outcome.plan = candidate.plan;
    try {
        check_plan(candidate.plan, candidate.problem, evaluator.device());
    } catch (const Error& error) {
        fail(result.outcome, OutcomeKind::resource_error, error.what());
        return result;
    }
    CompileResult compiled = evaluator.builder().take(candidate);
    if (compiled.ok) {
        const Compiled ready{candidate, std::move(compiled.code)};
        Measurement measurement = evaluator.measure(ready);
        result.outcome = std::move(measurement.outcome);
        result.outcome.reason = shortened(result.outcome.reason);
        result.outcome.plan = candidate.plan;
        if (evaluator.device().kind == DeviceKind::cuda) result.outcome.binary_key = content_hash(ready.code.code);
        result.code = ready.code;
        result.device_seconds = measurement.device_seconds;
        result.device_lost = measurement.device_lost;
    } else {
        fail(result.outcome, kind_of(compiled.failure), compiled.log);
    }
    result.outcome.compile_milliseconds = compiled.milliseconds;
    return result;
}

}  // namespace tconv
