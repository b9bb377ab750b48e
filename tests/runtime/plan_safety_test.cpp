#include "runtime/plan_safety.hpp"

#include "core/error.hpp"
#include "device/emulator/emulator.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/scatter.hpp"
#include "tests/runtime/stored_winner.hpp"

namespace {

using namespace tconv;

struct Fixture {
    Problem problem;
    DeviceInfo device;
    Trial trial;

    Fixture() : problem(small_problem()), device(make_emulator()->info()), trial(stored_trial(problem)) {}

    void check() const { check_stored(trial, problem, device); }
};

}  // namespace

TEST_CASE("a trial as the tuner stores it passes") {
    CHECK_NOTHROW(Fixture().check());
    CHECK_FALSE(is_stale(Fixture().trial));
}

TEST_CASE("names that would become program text are refused") {
    const std::string evil = GENERATE("", "a b", "x = 1; }; int y", "1a", "a-b", "a\n", "ö", "a;");
    INFO("name '" << evil << "'");
    Fixture parameter;
    parameter.trial.config[evil] = 1;
    CHECK_THROWS_AS(parameter.check(), Error);
    Fixture constant;
    constant.trial.outcome.plan.constants[evil] = 1;
    CHECK_THROWS_AS(constant.check(), Error);
    Fixture kernel;
    kernel.trial.outcome.plan.launches[0].kernel = evil;
    CHECK_THROWS_AS(kernel.check(), Error);
}

TEST_CASE("the emulator compiles nothing but the embedded sources") {
    const std::string file = GENERATE("", "../reference.cu", "/tmp/reference.cu", "other.cu");
    Fixture fixture;
    fixture.trial.outcome.plan.source_file = file;
    CHECK_THROWS_AS(fixture.check(), Error);
    CHECK(is_stale(fixture.trial));
    fixture.device.kind = DeviceKind::cuda;
    CHECK_NOTHROW(fixture.check());
}

TEST_CASE("a plan that breaks a launch limit is refused") {
    Fixture fixture;
    fixture.trial.outcome.plan.launches[0].block = {2048, 1, 1};
    CHECK_THROWS_AS(fixture.check(), Error);
}

TEST_CASE("another template hash is stale") {
    Fixture fixture;
    fixture.trial.template_hash = "0000000000000000";
    CHECK(is_stale(fixture.trial));
}
