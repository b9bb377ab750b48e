// What was best with former versions of kernels: sessions and precompilation try it first.

#include "tuner/recall.hpp"

#include <algorithm>
#include <cmath>

#include "tests/tuner/pretended_scene.hpp"
#include "tuner/precompile.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

using Configs = std::vector<Config>;

Config config(std::int64_t tile, std::int64_t math, std::int64_t block, std::int64_t depth) {
    return {{"tile", tile}, {"math", math}, {"block", block}, {"depth", depth}};
}

struct Scene : PretendedScene {
    /// Stores a right trial of another version of the family.
    void store(const std::string& family, const Config& config, double milliseconds,
               const std::string& version = "former") {
        Trial trial;
        trial.problem = test_problem();
        trial.template_name = family;
        trial.template_hash = version;
        trial.config = config;
        trial.strict = config.at("math") == 0;
        trial.outcome.error.relative = trial.strict ? 1e-7 : PretendedGpu::error_of(config);
        trial.outcome.timing.samples = {milliseconds};
        trial.outcome.timing.median = trial.outcome.timing.minimum = milliseconds;
        trial.outcome.plan.launches.resize(1);
        change(trial);
        database.record(gpu.device(), trial, {});
    }

    TuneResult tune(std::int64_t trials = 12, double tolerance = 1e-2, bool strict = false) {
        return PretendedScene::tune(tolerance, strict, trials);
    }

    [[nodiscard]] Configs first_measured(std::size_t count) const {
        REQUIRE(gpu.measured.size() >= count);
        return {gpu.measured.begin(), gpu.measured.begin() + static_cast<std::ptrdiff_t>(count)};
    }

    std::function<void(Trial&)> change = [](Trial&) {};
};

}  // namespace

TEST_CASE("a session tries first what was best with former kernels, the fastest first, two a family") {
    Scene scene;
    scene.store("tensor", config(8, 2, 128, 3), 3);
    scene.store("tensor", config(8, 1, 128, 3), 1);
    scene.store("tensor", config(8, 3, 128, 3), 4);
    scene.store("plain", config(16, 0, 256, 2), 9);
    scene.store("plain", config(16, 0, 256, 3), 2);
    scene.store("plain", config(16, 0, 256, 4), 10);
    const TuneResult result = scene.tune();
    CHECK(scene.first_measured(4) ==
          Configs{config(8, 1, 128, 3), config(16, 0, 256, 3), config(8, 2, 128, 3), config(16, 0, 256, 2)});
    CHECK(result.trials_former == 4);
    CHECK(result.trials_measured == 12);
    CHECK(result.trials_reused == 0);
    const TuneResult again = scene.tune();
    CHECK(again.trials_measured == 0);
    CHECK(again.trials_former == 0);
}

TEST_CASE("of three families the four best are tried") {
    Scene scene;
    scene.spaces.push_back(accuracy_space("third", "", "[1]"));
    const std::vector<std::string> families{"plain", "tensor", "third"};
    for (std::size_t i = 0; i < 6; ++i)
        scene.store(families[i % 3], config(8, i % 3 == 0 ? 0 : 1, 64 << (i % 2), 3), 1 + static_cast<double>(i));
    CHECK(scene.tune().trials_former == 4);
    CHECK(scene.first_measured(4) ==
          Configs{config(8, 0, 64, 3), config(8, 1, 128, 3), config(8, 1, 64, 3), config(8, 0, 128, 3)});
}

TEST_CASE("no more former winners are tried than a session has trials") {
    Scene scene;
    scene.store("tensor", config(8, 1, 128, 3), 1);
    scene.store("plain", config(16, 0, 256, 3), 2);
    CHECK(scene.tune(1).trials_former == 1);
    CHECK(scene.gpu.measured == Configs{config(8, 1, 128, 3)});
    CHECK(scene.tune(2).trials_former == 1);
    CHECK(scene.gpu.measured == Configs{config(16, 0, 256, 3)});
}

TEST_CASE(
    "a former winner is tried as it is now, whichever versions it comes from, and passed over where it is nothing "
    "now") {
    Scene scene;
    Config without_depth = config(8, 1, 128, 1);
    without_depth.erase("depth");
    Config with_more = config(4, 1, 256, 2);
    with_more["gone"] = 5;
    Config without_block = config(4, 1, 64, 2);
    without_block.erase("block");
    scene.store("tensor", config(32, 1, 64, 4), 1);  // breaks a rule
    scene.store("tensor", config(64, 1, 64, 1), 2);  // a value that is gone
    scene.store("tensor", without_block, 3);
    scene.store("tensor", without_depth, 4, "first");
    scene.store("tensor", config(8, 1, 128, 1), 5, "second");
    scene.store("tensor", with_more, 6);
    CHECK(scene.tune().trials_former == 2);
    CHECK(scene.first_measured(2) == Configs{config(8, 1, 128, 1), config(4, 1, 256, 2)});
}

TEST_CASE("former winners keep to the tolerance and the strictness of the session") {
    for (const bool strict : {false, true}) {
        Scene scene;
        scene.store("tensor", config(8, 1, 128, 3), 1);
        scene.store("tensor", config(8, 2, 128, 3), 2);
        scene.store("plain", config(16, 0, 256, 2), 9);
        const Configs expected =
            strict ? Configs{config(16, 0, 256, 2)} : Configs{config(8, 2, 128, 3), config(16, 0, 256, 2)};
        CHECK(scene.tune(12, 1e-5, strict).trials_former == static_cast<std::int64_t>(expected.size()));
        CHECK(scene.first_measured(expected.size()) == expected);
        for (const Config& measured : scene.gpu.measured)
            CHECK(measured.at("math") != 1);
    }
}

TEST_CASE("only right trials of this problem and device are former winners") {
    Scene scene;
    SECTION("failed") {
        scene.change = [](Trial& trial) { trial.outcome.kind = OutcomeKind::wrong_result; };
    }
    SECTION("too slow to be looked at") {
        scene.change = [](Trial& trial) { trial.outcome.kind = OutcomeKind::too_slow; };
    }
    SECTION("of another problem") {
        scene.change = [](Trial& trial) { trial.problem.batch = 7; };
    }
    SECTION("of a family that is no more") {
        scene.change = [](Trial& trial) { trial.template_name = "gone"; };
    }
    scene.store("tensor", config(8, 1, 128, 3), 1);
    CHECK(scene.tune().trials_former == 0);
}

TEST_CASE("a former winner that was tried with the present kernels is not tried again, and no other takes its place") {
    Scene scene;
    (void)scene.tune(20);
    const Configs tried = scene.gpu.measured;
    const auto known = std::find_if(tried.begin(), tried.end(), [](const Config& c) { return c.at("math") == 1; });
    REQUIRE(known != tried.end());
    const auto is_new = [&](const Config& c) { return std::find(tried.begin(), tried.end(), c) == tried.end(); };
    Configs fresh;
    for (const std::int64_t tile : {1, 2, 4, 8}) {
        if (is_new(config(tile, 1, 32, 4))) fresh.push_back(config(tile, 1, 32, 4));
    }
    REQUIRE(fresh.size() >= 2);
    scene.store("tensor", *known, 0.1);
    scene.store("tensor", fresh[0], 0.2);
    scene.store("tensor", fresh[1], 0.3);
    const TuneResult result = scene.tune(30);
    CHECK(result.trials_former == 1);
    CHECK(result.trials_measured == 10);
    CHECK(scene.gpu.measured.front() == fresh[0]);
}

TEST_CASE("a search climbs from a former winner once its time is known") {
    Scene scene;
    scene.spaces.pop_back();
    scene.store("plain", config(8, 0, 64, 2), 1);
    TrialLog log(&scene.database, scene.gpu.device(), test_problem(), 1e-4, "pretended 1");
    constexpr std::int64_t budget = 10;
    Contest contest(test_problem(), scene.gpu.device(), scene.spaces, 1, budget, 1e-4);
    const std::vector<FormerWinner> former = recall_trials(log, contest);
    REQUIRE(former.size() == 1);
    CHECK(former.front().family == "plain");
    const auto first = contest.next();
    REQUIRE(first);
    CHECK(first->config == config(8, 0, 64, 2));
    contest.report("plain", first->config, 0.001);
    const auto known_before_climbs = std::llround(SearchSettings{}.random_share * budget);
    for (std::int64_t known = 1; known < known_before_climbs; ++known) {
        const auto other = contest.next();
        REQUIRE(other);
        contest.report("plain", other->config, 50);
    }
    const Configs near = scene.spaces.front().neighbours(test_problem(), scene.gpu.device(), first->config);
    for (int i = 0; i < 3; ++i) {
        const auto step = contest.next();
        REQUIRE(step);
        CHECK(std::find(near.begin(), near.end(), step->config) != near.end());
        contest.report("plain", step->config, 50);
    }
}

TEST_CASE("precompiling compiles the former winners that a session will try") {
    Scene scene;
    scene.store("tensor", config(8, 1, 128, 3), 1);
    scene.store("plain", config(16, 0, 256, 2), 9);
    scene.store("tensor", config(8, 2, 128, 3), 3);
    PretendedGpuCompiler compiler;
    Precompiler precompiler(compiler, scene.gpu.device(), scene.spaces, &scene.database, 1);
    CHECK(precompiler.compile({test_problem(), 1e-2, 3, 1}, [](std::int64_t) {}, {}).compiled == 3);
    // Nothing is left to compile of what a session tries first.
    const std::int64_t before = scene.gpu.compiled();
    CHECK(scene.tune(3).trials_former == 3);
    CHECK(scene.gpu.compiled() == before);
}
