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
    TrialLog log(nullptr, DeviceInfo{}, Problem{}, 1e-4, "c 1");
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

TEST_CASE("in a strict session only strict trials are right") {
    TrialLog log(nullptr, DeviceInfo{}, Problem{}, 1e-2, "c 1", true);
    Trial fast = trial(1, OutcomeKind::valid, 1.0, 1e-3);
    fast.strict = false;
    log.record(fast, {});
    log.record(trial(2, OutcomeKind::valid, 2.0, 1e-6), {});
    CHECK(log.ranking().size() == 1);
    CHECK(log.best_milliseconds() == 2.0);
    CHECK(log.search_time(log.trials()[0]) == std::nullopt);
}

TEST_CASE("a trial would win where no right one is as fast and as accurate, of strict ones where it is strict") {
    TrialLog log(nullptr, DeviceInfo{}, Problem{}, 1e-2, "c 1");
    Trial loose = trial(1, OutcomeKind::valid, 1.0, 1e-6);
    loose.strict = false;
    log.record(loose, {});
    log.record(trial(2, OutcomeKind::valid, 5.0, 1e-5), {});
    CHECK(log.would_win(trial(3, OutcomeKind::valid, 0.5, 1e-3)));
    CHECK(log.would_win(trial(3, OutcomeKind::valid, 2.0, 1e-7)));
    CHECK(log.would_win(trial(3, OutcomeKind::valid, 2.0, 1e-4)));  // the fastest strict one
    CHECK_FALSE(log.would_win(trial(3, OutcomeKind::valid, 6.0, 1e-4)));
    CHECK_FALSE(log.would_win(trial(3, OutcomeKind::valid, 0.5, 1e-1)));
    CHECK_FALSE(log.would_win(trial(3, OutcomeKind::crashed, 0.5, 1e-3)));
    loose = trial(3, OutcomeKind::valid, 2.0, 1e-4);
    loose.strict = false;
    CHECK_FALSE(log.would_win(loose));
}

TEST_CASE("of the stored trials, those that the session would not try are left out, but for right ones") {
    const test::ScratchFolder folder;
    Database database(folder / "tconv.db", OpenMode::read_write);
    {
        TrialLog log(&database, DeviceInfo{}, Problem{}, 1e-2, "c 1");
        log.record(trial(1, OutcomeKind::valid, 1.0, 1e-3), {});
        log.record(trial(2, OutcomeKind::valid, 1.0, 1e-5), {});
        log.record(trial(3, OutcomeKind::valid, 1.0, 1e-6), {});
        log.record(trial(4, OutcomeKind::crashed, 1.0, 1e-6), {});
        log.record(trial(5, OutcomeKind::crashed, 1.0, 1e-6), {});
        Trial wrong = trial(6, OutcomeKind::wrong_result, 1.0, 1e-3);
        log.record(wrong, {});
    }
    TrialLog log(&database, DeviceInfo{}, Problem{}, 1e-4, "");
    log.recall("direct", k_hash, [](const Config& config) { return config.at("tile") % 2 == 1; });
    std::vector<std::int64_t> tiles;
    for (const Trial& t : log.trials())
        tiles.push_back(t.config.at("tile"));
    CHECK(tiles == std::vector<std::int64_t>{1, 2, 3, 5});
    CHECK(log.ranking().size() == 2);
}

TEST_CASE("what was too slow beside a looser tolerance's best is looked at again under a stricter one") {
    const test::ScratchFolder folder;
    Database database(folder / "tconv.db", OpenMode::read_write);
    const DeviceInfo device{};
    const Problem problem{};
    {
        TrialLog loose(&database, device, problem, 1e-2, "c 1");
        loose.record(trial(1, OutcomeKind::valid, 1.0, 1e-3), {});
        loose.record(trial(2, OutcomeKind::too_slow, 4.0, 1e-6), {});
        loose.record(trial(3, OutcomeKind::too_slow, 40.0, 1e-6), {});
        loose.record(trial(4, OutcomeKind::valid, 3.0, 1e-6), {});
    }
    const auto recalled = [&](double tolerance) {
        TrialLog log(&database, device, problem, tolerance, "c 1");
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

namespace {

/// Tiles of the trials that a session with this driver and compiler takes up.
std::vector<std::int64_t> recalled_with(Database& database, const std::string& driver, const std::string& compiler,
                                        const std::string& hash = k_hash) {
    DeviceInfo device;
    device.driver_version = driver;
    TrialLog log(&database, device, Problem{}, 1e-4, compiler);
    log.recall("direct", hash);
    std::vector<std::int64_t> tiles;
    for (const Trial& t : log.trials())
        tiles.push_back(t.config.at("tile"));
    return tiles;
}

}  // namespace

TEST_CASE("a failed trial counts with the same driver, compiler and template alone; a right one always") {
    const test::ScratchFolder folder;
    Database database(folder / "tconv.db", OpenMode::read_write);
    DeviceInfo device;
    device.driver_version = "13.0";
    std::vector<std::int64_t> all;
    {
        TrialLog log(&database, device, Problem{}, 1e-4, "c 1");
        for (int kind = 0; kind <= static_cast<int>(OutcomeKind::too_slow); ++kind) {
            Trial t = trial(kind, static_cast<OutcomeKind>(kind), kind == 0 ? 1.0 : 9.0, 1e-6);
            if (t.outcome.kind == OutcomeKind::wrong_result) t.outcome.error.relative = 1;
            t.driver_version = "13.0";
            t.compiler_version = "c 1";
            log.record(t, {});
            all.push_back(kind);
        }
    }
    const std::vector<std::int64_t> right{0, static_cast<std::int64_t>(OutcomeKind::too_slow)};
    CHECK(recalled_with(database, "13.0", "c 1") == all);
    CHECK(recalled_with(database, "13.1", "c 1") == right);
    CHECK(recalled_with(database, "13.0", "c 2") == right);
    CHECK(recalled_with(database, "13.0", "c 1", "another hash").empty());
    CHECK(recalled_with(database, "", "c 1") == all);  // a device that is only described
    CHECK(recalled_with(database, "", "c 2") == right);
}

TEST_CASE("a trial that failed elsewhere and is measured again replaces the old one") {
    const test::ScratchFolder folder;
    Database database(folder / "tconv.db", OpenMode::read_write);
    for (const char* const driver : {"13.0", "13.1"}) {
        DeviceInfo device;
        device.driver_version = driver;
        TrialLog log(&database, device, Problem{}, 1e-4, "c 1");
        log.recall("direct", k_hash);
        CHECK(log.trials().empty());
        Trial t = trial(1, OutcomeKind::crashed, 0, 0);
        t.driver_version = driver;
        t.compiler_version = "c 1";
        log.record(t, {});
    }
    CHECK(recalled_with(database, "13.0", "c 1").empty());
    CHECK(recalled_with(database, "13.1", "c 1") == std::vector<std::int64_t>{1});
}

TEST_CASE("trials that a database refuses are stored later, or named as lost at the end") {
    const test::ScratchFolder folder;
    const auto path = folder / "tconv.db";
    const auto aside = folder / "aside.db";
    Database database(path, OpenMode::read_write);
    TrialLog log(&database, DeviceInfo{}, Problem{}, 1e-4, "c 1");
    log.record(trial(1, OutcomeKind::valid, 1.0, 1e-6), {});
    std::filesystem::rename(path, aside);
    for (std::int64_t tile = 2; tile <= 40; ++tile)
        log.record(trial(tile, OutcomeKind::valid, static_cast<double>(tile), 1e-6), {});
    CHECK(log.trials().size() == 40);
    CHECK(log.best_milliseconds() == 1.0);
    SECTION("the database comes back") {
        std::filesystem::rename(aside, path);
        for (std::int64_t again = 0; again < 2; ++again)
            log.record(trial(41 + again, OutcomeKind::valid, 50.0, 1e-6), {});
        log.finish();
        CHECK(log.warnings().empty());
        CHECK(recalled_with(database, "", "c 1").size() == 42);
    }
    SECTION("it comes back at the very end") {
        std::filesystem::rename(aside, path);
        log.finish();
        CHECK(log.warnings().empty());
        CHECK(recalled_with(database, "", "c 1").size() == 40);
    }
    SECTION("it stays away") {
        log.finish();
        REQUIRE(log.warnings().size() == 1);
        CHECK(log.warnings()[0].find("39 of 40 trials could not be stored") == 0);
        CHECK(log.warnings()[0].find("was moved or removed") != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(path));
    }
}

TEST_CASE("a stored trial that is damaged is left out, with a warning") {
    const test::ScratchFolder folder;
    Database database(folder / "tconv.db", OpenMode::read_write);
    {
        TrialLog log(&database, DeviceInfo{}, Problem{}, 1e-4, "c 1");
        Trial bad = trial(1, OutcomeKind::valid, 1.0, 1e-6);
        bad.config = {{"no identifier", 1}};
        log.record(bad, {});
        log.record(trial(2, OutcomeKind::valid, 2.0, 1e-6), {});
    }
    TrialLog log(&database, DeviceInfo{}, Problem{}, 1e-4, "c 1");
    log.recall("direct", k_hash);
    CHECK(log.trials().size() == 1);
    REQUIRE(log.warnings().size() == 1);
    CHECK(log.warnings()[0].find("trial 1 of the database") == 0);
}
