#include "tuner/local_evaluator.hpp"

#include "kernel_sources/reference.hpp"
#include "tests/catch.hpp"
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
