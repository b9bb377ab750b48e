// Sessions of different tolerances, free and strict, on one database.

#include <algorithm>
#include <chrono>
#include <thread>

#include "cache/front.hpp"
#include "tests/cache/scratch.hpp"
#include "tests/tuner/pretended_scene.hpp"
#include "tuner/strategies/random.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

struct Scene : PretendedScene {
    [[nodiscard]] std::vector<Trial> stored() const {
        return database.trials(test_problem(), device_key(gpu.device()));
    }

    /// Every request is answered with what ranks first among the stored trials within its tolerance, with its code.
    void check_served() {
        const std::vector<Trial> trials = stored();
        for (const bool strict : {false, true}) {
            for (const Trial& bound : trials) {
                const double tolerance = bound.outcome.error.relative;
                const auto order = ranked(trials);
                const auto first = std::find_if(order.begin(), order.end(), [&](const Trial* trial) {
                    return trial->outcome.error.relative <= tolerance && (trial->strict || !strict);
                });
                const auto winner = database.winner(test_problem(), gpu.device(), tolerance, strict);
                REQUIRE(winner.has_value() == (first != order.end()));
                if (!winner) continue;
                CHECK(winner->trial.id == (*first)->id);
                CHECK(winner->binary.starts_with("code of "));
                CHECK((winner->trial.strict || !strict));
            }
        }
        CHECK(database.take_warnings().empty());
    }
};

bool is_strict(const Config& config) {
    return config.at("math") == 0;
}

}  // namespace

TEST_CASE("a session tries only what its tolerance and strictness allow, and stores which trials are strict") {
    for (const bool strict : {false, true}) {
        for (const double tolerance : {1e-6, 1e-5, 1e-4, 1e-2}) {
            INFO("tolerance " << tolerance << ", strict " << strict);
            Scene scene;
            const TuneResult result = scene.tune(tolerance, strict);
            REQUIRE(result.winner);
            CHECK(result.strict == strict);
            CHECK(result.trials_measured == 40);
            for (const Config& config : scene.gpu.measured) {
                CHECK((is_strict(config) || !strict));
                CHECK(PretendedGpu::error_of(config) <= tolerance);
            }
            for (const Trial& trial : scene.stored())
                CHECK(trial.strict == is_strict(trial.config));
            CHECK(result.failures.empty());
        }
    }
}

TEST_CASE("the front of a session is monotone, within its tolerance, and begins with the winner") {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        Scene scene;
        const TuneResult result = scene.tune(1e-2, false, 80, seed);
        REQUIRE(result.winner);
        REQUIRE(!result.front.empty());
        CHECK(result.front.front().config == result.winner->config);
        CHECK(result.front.size() > 2);
        for (std::size_t i = 1; i < result.front.size(); ++i) {
            const Outcome& before = result.front[i - 1].outcome;
            const Outcome& here = result.front[i].outcome;
            CHECK(ranking_milliseconds(before.timing) <= ranking_milliseconds(here.timing));
            CHECK(before.error.relative > here.error.relative);
        }
        CHECK(std::all_of(result.front.begin(), result.front.end(),
                          [](const Trial& trial) { return trial.outcome.error.relative <= 1e-2; }));
        for (const Trial& trial : scene.tune(1e-4, true, 20, seed).front)
            CHECK(trial.strict);
    }
}

TEST_CASE("after sessions of any tolerances, in any order, each request gets its winner with its machine code") {
    const std::vector<std::pair<double, bool>> kinds{{1e-2, false}, {1e-4, false}, {1e-5, false}, {1e-4, true}};
    std::vector<std::size_t> order{0, 1, 2, 3};
    do {
        INFO("order " << order[0] << order[1] << order[2] << order[3]);
        Scene scene;
        for (const std::size_t kind : order) {
            const TuneResult result = scene.tune(kinds[kind].first, kinds[kind].second, 30, 1 + kind);
            REQUIRE(result.winner);
            CHECK(result.trials_measured + result.trials_reused >= 30);
            scene.check_served();
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a session that measures nothing makes the machine code again that the database has lost") {
    for (const char* loss :
         {"DELETE FROM binary", "UPDATE binary SET compressed = x'00'", "UPDATE binary SET size = size + 1"}) {
        INFO(loss);
        Scene scene;
        (void)scene.tune(1e-2, false, 30);
        test::run_sql(scene.database.path(), loss);
        const TuneResult again = scene.tune(1e-2, false, 30);
        CHECK(again.trials_measured == 0);
        CHECK(again.warnings.empty());
        const auto winner = scene.database.winner(test_problem(), scene.gpu.device(), 1e-2, false);
        REQUIRE(winner);
        CHECK(winner->trial.config == again.winner->config);
        scene.check_served();
    }
}

TEST_CASE("a stricter session reuses what it would try itself, and counts nothing else") {
    Scene scene;
    (void)scene.tune(1e-2, false, 60);
    const std::vector<Trial> stored = scene.stored();
    const auto strict = std::count_if(stored.begin(), stored.end(), [](const Trial& trial) { return trial.strict; });
    const TuneResult result = scene.tune(1e-4, true, 40);
    CHECK(result.trials_reused <= strict);
    CHECK(result.trials_reused > 0);
    CHECK(result.trials_reused + result.trials_measured == 40);
    CHECK(result.winner->strict);
    const TuneResult again = scene.tune(1e-4, true, 40);
    CHECK(again.trials_measured == 0);
    CHECK(again.winner->config == result.winner->config);
}

TEST_CASE("what a stricter session tried does not use up the trials of a looser one") {
    Scene scene;
    (void)scene.tune(1e-4, true, 40);
    const TuneResult looser = scene.tune(1e-4, false, 40);
    CHECK(looser.trials_reused == 40);
    CHECK(looser.trials_measured == 40);
    CHECK(!looser.winner->strict);
    const TuneResult loosest = scene.tune(1e-2, false, 40);
    CHECK(loosest.trials_measured == 40);
    CHECK(loosest.winner->config.at("math") == 1);
    for (const double tolerance : {1e-4, 1e-2})
        CHECK(scene.tune(tolerance, false, 40).trials_measured == 0);
    CHECK(scene.tune(1e-4, true, 40).trials_measured == 0);
}

TEST_CASE("a family that came later gets half of the trials that are used up") {
    Scene scene;
    SearchSpace tensor = std::move(scene.spaces[1]);
    scene.spaces.pop_back();
    CHECK(scene.tune(1e-4, false, 40).trials_measured == 40);
    CHECK(scene.tune(1e-4, false, 40).trials_measured == 0);
    scene.spaces.push_back(std::move(tensor));
    const TuneResult result = scene.tune(1e-4, false, 40);
    CHECK(result.trials_measured == 20);
    CHECK(result.winner->template_name == "tensor");
    CHECK(scene.tune(1e-4, false, 40).trials_measured == 0);
}

TEST_CASE("what was dropped beside a looser tolerance's best is timed properly before it wins") {
    Scene scene;
    (void)scene.tune(1e-2, false, 60);
    const TuneResult result = scene.tune(1e-4, false, 1);
    REQUIRE(result.winner);
    CHECK(!result.winner->outcome.timing.dropped_early);
    scene.check_served();
}

TEST_CASE("what a session tries depends on its seed, not on how long the device takes") {
    const auto tried = [](std::uint64_t seed, std::uint64_t pause) {
        Scene scene;
        Random random(seed + 100);
        scene.gpu.before_measuring = [&] {
            if (pause > 0) std::this_thread::sleep_for(std::chrono::microseconds(draw_below(random, pause)));
        };
        const TuneResult result = scene.tune(1e-2, false, 60, seed);
        CHECK(result.device_busy_seconds == Approx(0.06));
        double spent = 0;
        visit_stages(result.stages, [&](const char*, double seconds) {
            CHECK(seconds >= 0);
            spent += seconds;
        });
        CHECK(spent == Approx(result.seconds));
        return scene.gpu.measured;
    };
    const std::vector<Config> quick = tried(7, 0);
    CHECK(quick.size() == 60);
    CHECK(tried(7, 2000) == quick);
    CHECK(tried(8, 0) != quick);
}
