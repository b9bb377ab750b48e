// A candidate that failed is skipped by later sessions until its environment changes or somebody asks.

#include "device/emulator/emulator.hpp"
#include "tests/cache/scratch.hpp"
#include "tests/catch.hpp"
#include "tests/faults/session.hpp"

using namespace tconv::tests;
using tconv::test::query_sql;
using tconv::test::run_sql;

namespace {

constexpr int k_trials = 5;

}  // namespace

TEST_CASE("a failed candidate is skipped in its environment, and tried again in another one or on request") {
    if (!tconv::host_compiler_status().available) return;
    const tconv::test::ScratchFolder folder;
    const auto path = folder / "t.db";
    check_won(tune(folder.path(), path, k_trials));
    // The first default, which every session proposes.
    const std::string config = query_sql(path, "SELECT config FROM trial ORDER BY id LIMIT 1").at(0);
    const auto outcome = [&] {
        const auto rows = query_sql(path, "SELECT outcome FROM trial WHERE config = '" + config + "'");
        return rows.empty() ? std::string() : rows.at(0);
    };
    const auto plant_crash = [&](const std::string& more) {
        run_sql(path, "UPDATE trial SET outcome = 'crashed', reason = 'planted', digest = NULL" + more +
                          " WHERE config = '" + config + "'");
    };

    plant_crash("");
    const TuneRun skipped = tune(folder.path(), path, k_trials);
    check_won(skipped);
    CHECK(skipped.reused() == k_trials);
    CHECK(outcome() == "crashed");

    for (const char* const other : {", driver_version = 'older'", ", compiler_version = 'older'"}) {
        plant_crash(other);
        const TuneRun tried = tune(folder.path(), path, k_trials);
        check_won(tried);
        CHECK(tried.reused() == k_trials - 1);
        CHECK(tried.measured() == 1);
        CHECK(outcome() == "valid");
        CHECK(rows_in(path) == k_trials);  // in the old one's place
    }

    plant_crash("");
    const std::vector<std::string> where{"--database", path.string()};
    const Finished cleared =
        run_tconv({"cache", "quarantine", "clear", "--outcome", "crashed", where[0], where[1]}, folder.path());
    CHECK(holds(cleared.out, "1 trial removed"));
    CHECK(outcome().empty());
    const TuneRun asked = tune(folder.path(), path, k_trials);
    check_won(asked);
    CHECK(asked.measured() == 1);
    CHECK(outcome() == "valid");
}
