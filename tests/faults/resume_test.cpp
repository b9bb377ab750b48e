// A session that is killed at any moment loses at most the trial in flight, and the next one goes on from there.

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <regex>
#include <thread>

#include "device/emulator/emulator.hpp"
#include "tests/catch.hpp"
#include "tests/faults/session.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;
using namespace tconv::tests;

namespace {

/// Trials that the last line of progress says are done; 0 where none does.
std::int64_t trials_reported(const std::string& progress) {
    static const std::regex line("([0-9]+)/[0-9]+ trials");
    std::int64_t trials = 0;
    for (auto at = std::sregex_iterator(progress.begin(), progress.end(), line); at != std::sregex_iterator(); ++at)
        trials = std::max<std::int64_t>(trials, std::stoll((*at)[1]));
    return trials;
}

}  // namespace

TEST_CASE("a session killed at a random moment keeps what it reported, and is resumed") {
    if (!host_compiler_status().available) return;
    const test::ScratchFolder folder;
    const auto path = folder / "t.db";
    test::Draw draw(7);
    const int count = test::rounds(20);
    std::int64_t stored = 0;
    std::int64_t reported = 0;
    // On a busy machine none of those may come to a trial: then more, each later.
    for (int round = 0; round < count || (reported == 0 && round < 2 * count); ++round) {
        INFO("round " << round);
        const auto delay = std::chrono::microseconds(draw.between(0, 250'000)) * std::max(1, round - count);
        const TuneRun killed = tune(folder.path(), path, 1'000'000, [&](pid_t command) {
            std::this_thread::sleep_for(delay);
            ::kill(command, SIGKILL);
        });
        CHECK(killed.process.exit_code == 128 + SIGKILL);
        if (!std::filesystem::exists(path)) continue;  // it had not come to that
        const Finished verified = run_tconv({"cache", "verify", "--database", path.string()}, folder.path());
        INFO(verified.out << verified.err);
        // Killed before the tables were made, the file is still empty.
        const bool empty = verified.exit_code == 2 && holds(verified.err, "is empty");
        CHECK((empty || verified.exit_code == 0));
        if (empty) {
            CHECK(stored == 0);
            continue;
        }
        const std::int64_t rows = rows_in(path);
        CHECK(rows >= stored);
        reported = std::max(reported, trials_reported(killed.process.err));
        CHECK(rows >= reported);
        stored = rows;
    }
    CHECK(reported > 0);
    const TuneRun resumed = tune(folder.path(), path, stored + 3);
    check_won(resumed);
    CHECK(resumed.reused() == stored);
    CHECK(resumed.measured() == 3);
    CHECK(rows_in(path) == stored + 3);
    check_sound(path, folder.path());
}
