#include "tuner/local_evaluator.hpp"

#include "kernel_sources/reference.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"
#include "tests/tuner/planted.hpp"

using namespace tconv;

namespace {

/// The reference kernel measured as a candidate while `watch` speaks of disturbances.
Outcome measured(const DisturbanceWatch& watch) {
    auto& emulated = test::emulated();
    Laboratory laboratory(*emulated.device, *emulated.compiler, watch);
    LocalEvaluator evaluator(laboratory);
    const Problem problem = test::planted_problem();
    (void)evaluator.prepare(problem, 1);
    Compiled compiled;
    compiled.candidate.problem = problem;
    compiled.candidate.plan = reference_plan(problem);
    compiled.code = laboratory.builder().build_file(k_reference_file, {reference_entry(problem.dtype)}).code;
    return evaluator.measure(compiled).outcome;
}

/// Says `words` the first `times` times that it is asked after the beginning.
DisturbanceWatch disturbed(int times, int& asked) {
    return [times, &asked]() -> std::vector<std::string> {
        const bool disturbed_now = asked > 0 && asked <= times;
        ++asked;
        if (disturbed_now) return {"another process uses the GPU"};
        return {};
    };
}

}  // namespace

TEST_CASE("undisturbed times are taken once and carry no remark") {
    int asked = 0;
    const Outcome outcome = measured(disturbed(0, asked));
    CHECK(outcome.kind == OutcomeKind::valid);
    CHECK(outcome.timing.remark.empty());
    CHECK(asked == 2);
}

TEST_CASE("a passing disturbance costs another timing and leaves no trace") {
    int asked = 0;
    const Outcome outcome = measured(disturbed(2, asked));
    CHECK(outcome.kind == OutcomeKind::valid);
    CHECK(outcome.timing.median > 0);
    CHECK(outcome.timing.remark.empty());
    CHECK(asked == 4);
}

TEST_CASE("a disturbance that stays is said of the times, after a few tries") {
    int asked = 0;
    const Outcome outcome = measured(disturbed(1000, asked));
    CHECK(outcome.kind == OutcomeKind::valid);
    CHECK(outcome.timing.remark == "timed while another process uses the GPU");
    CHECK(asked < 10);
}

TEST_CASE("a candidate whose workspace passes the limit of the device's memory costs itself alone") {
    auto& emulated = test::emulated();
    Laboratory laboratory(*emulated.device, *emulated.compiler);
    LocalEvaluator evaluator(laboratory);
    const Problem problem = test::planted_problem();
    (void)evaluator.prepare(problem, 1);
    const std::size_t kept = emulated.device->allocated_bytes();
    emulated.device->limit_memory(kept + (std::size_t{8} << 20));
    Compiled compiled;
    compiled.candidate.problem = problem;
    compiled.candidate.plan = reference_plan(problem);
    compiled.code = laboratory.builder().build_file(k_reference_file, {reference_entry(problem.dtype)}).code;
    const LaunchPlan modest = compiled.candidate.plan;
    compiled.candidate.plan.workspace_bytes = std::int64_t{16} << 20;
    const Measurement greedy = evaluator.measure(compiled);
    CHECK(greedy.outcome.kind == OutcomeKind::resource_error);
    CHECK_THAT(greedy.outcome.reason, contains("would pass the limit of"));
    CHECK_FALSE(greedy.device_lost);
    compiled.candidate.plan = modest;
    CHECK(evaluator.measure(compiled).outcome.kind == OutcomeKind::valid);
    CHECK(emulated.device->allocated_bytes() <= emulated.device->memory_limit());
    emulated.device->limit_memory(static_cast<std::size_t>(emulated.device->info().memory_bytes));
}
