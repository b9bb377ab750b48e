#include "cache/quarantine.hpp"

#include "core/hash.hpp"
#include "samples.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;

namespace {

constexpr int k_kinds = static_cast<int>(OutcomeKind::too_slow) + 1;

/// One trial of every outcome for each of two problems, in the order of the enumeration.
void fill(const std::filesystem::path& path) {
    Database database(path, OpenMode::read_write);
    for (const std::int64_t batch : {1, 2}) {
        for (int number = 0; number < k_kinds; ++number) {
            Trial trial = sample_trial(sample_problem(batch), number, 1.0);
            trial.outcome.kind = static_cast<OutcomeKind>(number);
            trial.outcome.reason = "reason " + std::to_string(number);
            database.record(sample_gpu(), trial, sample_binary(number));
        }
    }
    // Time stamps of one millisecond would leave the order to the ids.
    run_sql(path, "UPDATE trial SET created = '2020-01-01T00:00:' || printf('%02d', id) || '.000Z'");
}

}  // namespace

TEST_CASE("the quarantine holds what crashed, hung or was wrong, most recent first, with its environment") {
    const ScratchFolder scratch;
    fill(scratch / "t.db");
    const auto all = list_quarantine(scratch / "t.db", {});
    const std::vector<OutcomeKind> wanted{
        OutcomeKind::crashed,    OutcomeKind::timeout,      OutcomeKind::nondeterministic, OutcomeKind::out_of_bounds,
        OutcomeKind::not_finite, OutcomeKind::wrong_result, OutcomeKind::launch_error};
    REQUIRE(all.size() == 2 * wanted.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(all[i].outcome == wanted[i % wanted.size()]);
        CHECK(all[i].problem == key(sample_problem(i < wanted.size() ? 2 : 1)));
        CHECK(all[i].reason == "reason " + std::to_string(static_cast<int>(all[i].outcome)));
        CHECK(all[i].config.at("number") == static_cast<int>(all[i].outcome));
        CHECK(all[i].problem_name == "sample");
        CHECK(all[i].device == device_key(sample_gpu()));
        CHECK(all[i].template_name == "direct");
        CHECK(all[i].template_hash == content_hash("template"));
        CHECK(all[i].driver_version == "13.0");
        CHECK(all[i].compiler_version == "NVRTC 13.0");
        CHECK(all[i].age_seconds > 0);
        if (i > 0) CHECK(all[i - 1].created > all[i].created);
    }
    CHECK(query_sql(scratch / "t.db", "SELECT trial FROM quarantine").size() == all.size());
}

TEST_CASE("a filter on problem and outcome leaves the rest, also when clearing") {
    const ScratchFolder scratch;
    const auto path = scratch / "t.db";
    fill(path);
    const QuarantineFilter filter{{{key(sample_problem(1))}}, OutcomeKind::crashed};
    const auto found = list_quarantine(path, filter);
    REQUIRE(found.size() == 1);
    CHECK(found[0].problem == key(sample_problem(1)));
    CHECK(list_quarantine(path, {std::nullopt, OutcomeKind::compile_error}).size() == 2);
    CHECK(list_quarantine(path, {std::vector<std::string>{}, std::nullopt}).empty());
    CHECK(list_quarantine(path, {{{"no such key"}}, std::nullopt}).empty());

    CHECK(clear_quarantine(path, filter) == 1);
    CHECK(list_quarantine(path, filter).empty());
    CHECK(list_quarantine(path, {}).size() == 13);
    CHECK(clear_quarantine(path, {}) == 13);
    CHECK(clear_quarantine(path, {}) == 0);
    CHECK(query_sql(path, "SELECT DISTINCT outcome FROM trial ORDER BY id") ==
          std::vector<std::string>{"valid", "compile_error", "resource_error", "too_slow"});
    // Code of the trials that are gone is gone: both problems shared it.
    CHECK(query_sql(path, "SELECT count(*) FROM binary") == std::vector<std::string>{"4"});
    const Database database(path, OpenMode::read_only);
    CHECK(database.winner(sample_problem(1), sample_gpu(), 1));
}

TEST_CASE("a quarantined row that is damaged is passed over and can be cleared") {
    const ScratchFolder scratch;
    fill(scratch / "t.db");
    run_sql(scratch / "t.db", "UPDATE trial SET config = 'x' WHERE outcome = 'crashed' AND problem = 1");
    CHECK(list_quarantine(scratch / "t.db", {}).size() == 13);
    CHECK(clear_quarantine(scratch / "t.db", {}) == 14);
}

TEST_CASE("an absent database is an error and stays absent") {
    const ScratchFolder scratch;
    CHECK_FALSE(cache_error([&] { (void)list_quarantine(scratch / "t.db", {}); }).empty());
    CHECK(names_in(scratch.path()).empty());
}
