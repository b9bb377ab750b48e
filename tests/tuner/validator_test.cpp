#include "tuner/validator.hpp"

#include <utility>

#include "tests/catch.hpp"
#include "tests/support/emulated.hpp"
#include "tests/tuner/planted.hpp"
#include "tuner/evaluate.hpp"

using namespace tconv;
using test::Fault;

namespace {

constexpr double k_never_slow = 0;
constexpr double k_always_slow = 1e-12;

Outcome verdict(Fault fault, double slow_milliseconds = k_never_slow) {
    auto& emulated = test::emulated();
    const Problem problem = test::planted_problem();
    Builder builder(*emulated.compiler, emulated.device->info());
    SupportKernels support(*emulated.device, builder);
    Validator validator(*emulated.device, support, problem, 3);
    const auto module = emulated.build(test::planted_source(fault), {"planted"});
    Outcome outcome;
    const LaunchPlan plan = test::planted_plan(problem);
    validator.validate(runnable_plan(*emulated.device, *module, plan, problem.batch), 1e-4, outcome, slow_milliseconds);
    return outcome;
}

}  // namespace

TEST_CASE("a right kernel is valid with the error of fp32") {
    const Outcome outcome = verdict(Fault::none);
    INFO(outcome.reason);
    CHECK(outcome.kind == OutcomeKind::valid);
    CHECK(outcome.error.relative > 0);
    CHECK(outcome.error.relative < 1e-6);
    CHECK(outcome.error.absolute > 0);
}

TEST_CASE("a right kernel that takes too long costs one look and is told apart from a valid one") {
    const Outcome outcome = verdict(Fault::none, k_always_slow);
    CHECK(outcome.kind == OutcomeKind::too_slow);
    CHECK(outcome.timing.samples.size() == 1);
    CHECK(outcome.timing.median > 0);
    CHECK(!outcome.reason.empty());
    CHECK(outcome.error.relative < 1e-6);
}

TEST_CASE("a slow kernel that is wrong is wrong, not slow") {
    CHECK(verdict(Fault::mirrored_tap, k_always_slow).kind == OutcomeKind::wrong_result);
    CHECK(verdict(Fault::unwritten_border, k_always_slow).kind == OutcomeKind::not_finite);
}

TEST_CASE("a kernel that need not be deterministic is not compared with itself") {
    auto& emulated = test::emulated();
    const Problem problem = test::planted_problem();
    Builder builder(*emulated.compiler, emulated.device->info());
    SupportKernels support(*emulated.device, builder);
    Validator validator(*emulated.device, support, problem, 3);
    const auto module = emulated.build(test::planted_source(Fault::none), {"planted"});
    const LaunchPlan plan = test::planted_plan(problem);
    Runnable runnable = runnable_plan(*emulated.device, *module, plan, problem.batch);
    int calls = 0;
    const auto launch = runnable.launch;
    runnable.launch = [&](const CallTensors& tensors) {
        ++calls;
        launch(tensors);
    };
    Outcome outcome;
    validator.validate(runnable, 1e-4, outcome);
    const int checked = std::exchange(calls, 0);
    runnable.deterministic = false;
    validator.validate(runnable, 1e-4, outcome);
    CHECK(outcome.kind == OutcomeKind::valid);
    CHECK(checked == 2 * calls);
}

TEST_CASE("a weight index off by a stride is refused") {
    CHECK(verdict(Fault::weight_off_by_stride).kind == OutcomeKind::wrong_result);
}

TEST_CASE("a mirrored tap is refused") {
    CHECK(verdict(Fault::mirrored_tap).kind == OutcomeKind::wrong_result);
}

TEST_CASE("a lost bias is refused") {
    CHECK(verdict(Fault::lost_bias).kind == OutcomeKind::wrong_result);
}

TEST_CASE("an unwritten border is refused and located") {
    const Outcome outcome = verdict(Fault::unwritten_border);
    CHECK(outcome.kind == OutcomeKind::not_finite);
    // 2 x 5 rows of (7-1)*2 - 2 + 3 + 1 = 14 outputs, the last column of each.
    CHECK(outcome.reason.find("10 of 140 outputs") != std::string::npos);
    CHECK(outcome.reason.find("batch 0 channel 0 position 13") != std::string::npos);
}

TEST_CASE("a race is refused") {
    const OutcomeKind kind = verdict(Fault::race).kind;
    CHECK((kind == OutcomeKind::wrong_result || kind == OutcomeKind::nondeterministic));
}

TEST_CASE("NaN in the output is refused") {
    CHECK(verdict(Fault::not_a_number).kind == OutcomeKind::not_finite);
}

TEST_CASE("a deadlocked barrier is an outcome with its reason, not a hang") {
    const Outcome outcome = verdict(Fault::deadlock);
    CHECK(outcome.kind == OutcomeKind::launch_error);
    CHECK(outcome.reason.find("deadlock") != std::string::npos);
}

// An address-sanitized emulator ends the program at the access itself; these are for the guards.
#ifndef TCONV_SANITIZE
TEST_CASE("a read past the end of the input is refused") {
    const OutcomeKind kind = verdict(Fault::read_past_end).kind;
    // In the interior it reads the next batch entry, behind the last one the NaN of the guard.
    CHECK((kind == OutcomeKind::wrong_result || kind == OutcomeKind::not_finite));
}

TEST_CASE("a write behind or before the output is refused") {
    CHECK(verdict(Fault::write_past_end).kind == OutcomeKind::out_of_bounds);
    CHECK(verdict(Fault::write_before_start).kind == OutcomeKind::out_of_bounds);
}
#endif
