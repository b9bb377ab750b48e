#include "tuner/trial_log.hpp"

#include "tests/catch.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace tconv;

namespace {

constexpr const char* k_hash = "0123456789abcdef";

Trial trial(std::int64_t tile, OutcomeKind kind, double milliseconds, double error) {
    Trial t;
    t.template_name = "direct";
    t.template_hash = k_hash;
    t.config = {{"tile", tile}};
    t.outcome.kind = kind;
    t.outcome.error.relative = error;
    t.outcome.timing.samples = {milliseconds};
    t.outcome.timing.median = milliseconds;
    t.outcome.timing.minimum = milliseconds;
    return t;
}

}  // namespace

TEST_CASE("a trial that was too slow is no failure, never a winner, and tells the search its time") {
    TrialLog log(nullptr, DeviceInfo{}, Problem{}, 1e-4);
    log.record(trial(1, OutcomeKind::valid, 2.0, 1e-6), {});
    log.record(trial(2, OutcomeKind::too_slow, 9.0, 1e-6), {});
    log.record(trial(3, OutcomeKind::wrong_result, 0.5, 1e-2), {});
    CHECK(log.ranking().size() == 1);
    CHECK(log.best_milliseconds() == 2.0);
    CHECK(log.failures() == std::map<OutcomeKind, std::int64_t>{{OutcomeKind::wrong_result, 1}});
    CHECK(log.search_time(log.trials()[0]) == 2.0);
    CHECK(log.search_time(log.trials()[1]) == 9.0);
    CHECK(log.search_time(log.trials()[2]) == std::nullopt);
}

TEST_CASE("what was too slow beside a looser tolerance's best is looked at again under a stricter one") {
    const test::ScratchFolder folder;
    Database database(folder / "tconv.db", OpenMode::read_write);
    const DeviceInfo device{};
    const Problem problem{};
    {
        TrialLog loose(&database, device, problem, 1e-2);
        loose.record(trial(1, OutcomeKind::valid, 1.0, 1e-3), {});
        loose.record(trial(2, OutcomeKind::too_slow, 4.0, 1e-6), {});
        loose.record(trial(3, OutcomeKind::too_slow, 40.0, 1e-6), {});
        loose.record(trial(4, OutcomeKind::valid, 3.0, 1e-6), {});
    }
    const auto recalled = [&](double tolerance) {
        TrialLog log(&database, device, problem, tolerance);
        log.recall("direct", k_hash);
        std::vector<std::int64_t> tiles;
        for (const Trial& t : log.trials())
            tiles.push_back(t.config.at("tile"));
        return tiles;
    };
    CHECK(recalled(1e-2) == std::vector<std::int64_t>{1, 2, 3, 4});
    // The best within 1e-4 takes 3 ms, so 4 ms is worth a look and 40 ms is not.
    CHECK(recalled(1e-4) == std::vector<std::int64_t>{1, 3, 4});
}
