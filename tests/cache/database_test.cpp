#include "cache/database.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "samples.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;

namespace {

const DeviceInfo k_gpu = sample_gpu();

struct Fixture {
    ScratchFolder scratch;
    std::filesystem::path path = scratch / "t.db";
    Database database{path, OpenMode::read_write};

    std::int64_t record(int number, double median, double error = 1e-6, std::int64_t batch = 2) {
        return database.record(k_gpu, sample_trial(sample_problem(batch), number, median, error),
                               sample_binary(number));
    }
    [[nodiscard]] std::int64_t winning_number(double tolerance, bool strict = false) const {
        const auto found = database.winner(sample_problem(), k_gpu, tolerance, strict);
        return found ? found->trial.config.at("number") : -1;
    }
};

}  // namespace

TEST_CASE("a trial comes back with every field, also from another connection") {
    Fixture f;
    Trial trial = sample_trial(sample_problem(), 1, 0.1 + 0.2);
    trial.outcome.kind = OutcomeKind::wrong_result;
    trial.outcome.reason = "element 17 is off by 0.5; it's \"wrong\"\n\xc3\xa9";
    const std::int64_t id = f.database.record(k_gpu, trial, sample_binary(1));
    const Database reader(f.path, OpenMode::read_only);
    for (const Database* const database : std::initializer_list<const Database*>{&f.database, &reader}) {
        const auto trials = database->trials(trial.problem, device_key(k_gpu));
        REQUIRE(trials.size() == 1);
        check_same(trials[0], trial);
        CHECK(trials[0].id == id);
        CHECK(trials[0].created.size() == std::string("2024-01-01T00:00:00.000Z").size());
        CHECK(trials[0].created.back() == 'Z');
    }
}

TEST_CASE("every outcome comes back, a failed one without plan, with values that are no numbers") {
    Fixture f;
    for (int kind = 0; kind < 10; ++kind) {
        Trial trial = sample_trial(sample_problem(), kind, 0);
        trial.outcome.kind = static_cast<OutcomeKind>(kind);
        trial.outcome.plan = {};
        trial.outcome.binary_key.clear();
        trial.outcome.error.relative = std::numeric_limits<double>::quiet_NaN();
        trial.outcome.error.absolute = std::numeric_limits<double>::infinity();
        trial.outcome.timing = {};
        f.database.record(k_gpu, trial, {});
    }
    const auto trials = f.database.trials(sample_problem(), device_key(k_gpu));
    REQUIRE(trials.size() == 10);
    for (int kind = 0; kind < 10; ++kind) {
        const Outcome& outcome = trials[static_cast<std::size_t>(kind)].outcome;
        CHECK(outcome.kind == static_cast<OutcomeKind>(kind));
        CHECK(std::isnan(outcome.error.relative));
        CHECK(std::isinf(outcome.error.absolute));
        CHECK(outcome.plan == LaunchPlan{});
        CHECK(outcome.timing.samples.empty());
    }
    CHECK_FALSE(f.database.winner(sample_problem(), k_gpu, 1));
}

TEST_CASE("problems that differ in one field are kept apart and come back whole") {
    Fixture f;
    const Problem base = sample_problem();
    std::vector<Problem> problems{base};
    const auto add = [&](auto change) {
        Problem changed = base;
        change(changed);
        problems.push_back(changed);
    };
    add([](Problem& p) { p.batch = 3; });
    add([](Problem& p) { p.in_channels = 12; });
    add([](Problem& p) { p.out_channels = 12; });
    add([](Problem& p) { p.groups = 1; });
    add([](Problem& p) { p.input[1] = 9; });
    add([](Problem& p) { p.kernel[2] = 4; });
    add([](Problem& p) { p.stride[0] = 3; });
    add([](Problem& p) { p.padding[1] = 1; });
    add([](Problem& p) { p.output_padding[2] = 0; });
    add([](Problem& p) { p.dilation[0] = 1; });
    add([](Problem& p) { p.bias = false; });
    add([](Problem& p) { p.dtype = DataType::bf16; });
    add([](Problem& p) { p.layout = Layout::nchw; });
    for (std::size_t i = 0; i < problems.size(); ++i)
        f.database.record(k_gpu, sample_trial(problems[i], static_cast<int>(i), 1), sample_binary(static_cast<int>(i)));
    CHECK(f.database.list().size() == problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) {
        const auto trials = f.database.trials(problems[i], device_key(k_gpu));
        REQUIRE(trials.size() == 1);
        CHECK(trials[0].config.at("number") == static_cast<std::int64_t>(i));
        CHECK(f.database.find_problems(key(problems[i])) == std::vector<Problem>{problems[i]});
    }
}

TEST_CASE("a trial of the same problem, device, template and config replaces the old one and keeps its id") {
    Fixture f;
    const std::int64_t first = f.record(1, 5.0);
    const std::int64_t other = f.record(2, 6.0);
    Trial again = sample_trial(sample_problem(), 1, 3.0);
    again.problem_name = "renamed";
    CHECK(f.database.record(k_gpu, again, sample_binary(1)) == first);
    CHECK(other != first);
    const auto trials = f.database.trials(sample_problem(), device_key(k_gpu));
    REQUIRE(trials.size() == 2);
    CHECK(trials[0].id == first);
    check_same(trials[0], again);

    again.template_hash = "another";
    CHECK(f.database.record(k_gpu, again, sample_binary(1)) != first);
    CHECK(f.database.record(sample_emulator(), again, {}) != first);
    CHECK(f.database.trials(sample_problem(), device_key(k_gpu)).size() == 3);
    CHECK(f.database.trials(sample_problem(), device_key(k_gpu), "direct", "another").size() == 1);
    CHECK(f.database.trials(sample_problem(), device_key(k_gpu), "direct").size() == 3);
    CHECK(f.database.trials(sample_problem(), device_key(k_gpu), "other").empty());
    CHECK(f.database.trials(sample_problem(), "no such device").empty());
    CHECK(query_sql(f.path, "SELECT count(*) FROM binary") == std::vector<std::string>{"2"});
}

TEST_CASE("a trial dropped after one sample wins only where no other does") {
    Fixture f;
    Trial dropped = sample_trial(sample_problem(), 1, 1.0);
    dropped.outcome.timing.dropped_early = true;
    f.database.record(k_gpu, dropped, sample_binary(1));
    CHECK(f.winning_number(1) == 1);
    Trial timed = sample_trial(sample_problem(), 2, 5.0, 1e-3);
    timed.outcome.timing.dropped_early = false;
    f.database.record(k_gpu, timed, sample_binary(2));
    CHECK(f.winning_number(1) == 2);
    CHECK(f.winning_number(1e-4) == 1);
    REQUIRE(f.database.list().size() == 1);
    CHECK(f.database.list().front().best_median == 5.0);
}

TEST_CASE("the winner is the fastest valid trial within the tolerance") {
    Fixture f;
    CHECK(f.winning_number(1) == -1);
    f.record(1, 5.0, 1e-7);
    f.record(2, 3.0, 1e-5);
    f.record(3, 2.0, 1e-3);
    Trial wrong = sample_trial(sample_problem(), 4, 1.0);
    wrong.outcome.kind = OutcomeKind::wrong_result;
    f.database.record(k_gpu, wrong, sample_binary(4));
    Trial unlaunchable = sample_trial(sample_problem(), 5, 1.0);
    unlaunchable.outcome.plan = {};
    f.database.record(k_gpu, unlaunchable, sample_binary(5));
    f.record(6, 0.0);  // a clock that did not tick
    CHECK(f.winning_number(1e-2) == 3);
    CHECK(f.winning_number(1e-3) == 3);  // the tolerance itself is within it
    CHECK(f.winning_number(9e-4) == 2);
    CHECK(f.winning_number(1e-6) == 1);
    CHECK(f.winning_number(1e-8) == -1);
    const auto found = f.database.winner(sample_problem(), k_gpu, 1e-4);
    REQUIRE(found);
    check_same(found->trial, sample_trial(sample_problem(), 2, 3.0, 1e-5));
    CHECK(found->binary == sample_binary(2));
    CHECK(f.database.take_warnings().empty());
}

TEST_CASE("valid trials of a template's other versions are shown in the order in which they would be served") {
    Fixture f;
    f.record(1, 5.0, 1e-7);
    f.record(2, 3.0, 1e-5);
    f.record(3, 2.0, 1e-3);
    Trial other_version = sample_trial(sample_problem(), 4, 4.0);
    other_version.template_hash = "another version";
    other_version.strict = false;
    f.database.record(k_gpu, other_version, {});
    Trial other_template = sample_trial(sample_problem(), 5, 1.0);
    other_template.template_name = "other";
    f.database.record(k_gpu, other_template, {});
    Trial wrong = sample_trial(sample_problem(), 6, 1.0);
    wrong.outcome.kind = OutcomeKind::wrong_result;
    f.database.record(k_gpu, wrong, {});
    Trial dropped = sample_trial(sample_problem(), 7, 1.0);
    dropped.outcome.timing.dropped_early = true;
    f.database.record(k_gpu, dropped, {});
    f.database.record(k_gpu, sample_trial(sample_problem(3), 8, 1.0), {});
    f.database.record(sample_emulator(), sample_trial(sample_problem(), 9, 1.0), {});

    const Trial sample = sample_trial(sample_problem(), 1, 1.0);
    const auto medians = [&](const std::string& present, double tolerance, bool strict, std::size_t most = 100) {
        std::vector<double> shown;
        f.database.visit_former_trials(sample_problem(), device_key(k_gpu), sample.template_name, present, tolerance,
                                       strict, [&](const Trial& trial) {
                                           shown.push_back(trial.outcome.timing.median);
                                           return shown.size() < most;
                                       });
        return shown;
    };
    using Medians = std::vector<double>;
    CHECK(medians("the present one", 1e-2, false) == Medians{2, 3, 4, 5, 1});
    CHECK(medians("the present one", 1e-4, false) == Medians{3, 4, 5, 1});
    CHECK(medians("the present one", 1e-2, true).size() == (sample.strict ? 4 : 0));
    CHECK(medians("the present one", 1e-2, false, 2) == Medians{2, 3});
    CHECK(medians("another version", 1e-2, false) == Medians{2, 3, 5, 1});
    CHECK(medians(sample.template_hash, 1e-2, false) == Medians{4});
}

TEST_CASE("a winner needs machine code on a GPU, and none on the emulator") {
    Fixture f;
    const Trial trial = sample_trial(sample_problem(), 1, 1.0);
    f.database.record(k_gpu, trial, {});
    f.database.record(sample_emulator(), trial, {});
    CHECK_FALSE(f.database.winner(sample_problem(), k_gpu, 1));
    CHECK(f.database.take_warnings().size() == 1);
    CHECK(f.database.take_warnings().empty());
    const auto emulated = f.database.winner(sample_problem(), sample_emulator(), 1);
    REQUIRE(emulated);
    CHECK(emulated->binary.empty());
    f.database.record(k_gpu, trial, sample_binary(1));
    CHECK(f.database.winner(sample_problem(), k_gpu, 1));
    f.database.record(k_gpu, trial, {});  // measured again: the code that is there still serves
    CHECK(f.database.winner(sample_problem(), k_gpu, 1));
}

TEST_CASE("the winner of another batch is that of the nearest, the larger one on a tie") {
    Fixture f;
    const auto batch_for = [&](std::int64_t batch, double tolerance = 1e-4) {
        const auto found = f.database.winner_of_other_batch(sample_problem(batch), k_gpu, tolerance);
        return found ? found->trial.problem.batch : -1;
    };
    CHECK(batch_for(8) == -1);
    f.record(8, 1.0, 1e-6, 8);
    CHECK(batch_for(8) == -1);  // another one is asked for
    f.record(1, 1.0, 1e-6, 1);
    f.record(4, 1.0, 1e-6, 4);
    f.record(16, 1.0, 1e-6, 16);
    f.record(64, 1.0, 1e-2, 64);
    CHECK(batch_for(8) == 16);  // 4 and 16 are equally far
    CHECK(batch_for(7) == 8);
    CHECK(batch_for(3) == 4);
    CHECK(batch_for(2) == 4);
    CHECK(batch_for(1) == 4);
    CHECK(batch_for(0) == 1);
    CHECK(batch_for(100) == 16);  // 64 is nearer and not accurate enough
    CHECK(batch_for(100, 1e-1) == 64);
    Problem other = sample_problem(7);
    other.bias = false;
    CHECK_FALSE(f.database.winner_of_other_batch(other, k_gpu, 1));
    CHECK_FALSE(f.database.winner_of_other_batch(sample_problem(7), sample_emulator(), 1));
}

TEST_CASE("the list has one row a problem and device, the latest first") {
    Fixture f;
    CHECK(f.database.list().empty());
    f.record(1, 5.0, 1e-7, 2);
    f.record(2, 4.0, 1e-5, 2);
    Trial failed = sample_trial(sample_problem(4), 3, 0);
    failed.outcome.kind = OutcomeKind::timeout;
    f.database.record(k_gpu, failed, {});
    f.database.record(sample_emulator(), sample_trial(sample_problem(2), 1, 9.0), {});
    run_sql(f.path, "UPDATE trial SET created = printf('2024-01-01T00:00:%02d.000Z', id)");
    const auto list = f.database.list();
    REQUIRE(list.size() == 3);
    CHECK(list[0].device == device_key(sample_emulator()));
    CHECK(list[0].best_median == 9.0);
    CHECK(list[1].problem == sample_problem(4));
    CHECK(list[1].trials == 1);
    CHECK(list[1].valid == 0);
    CHECK_FALSE(list[1].best_median);
    CHECK(list[2].problem == sample_problem(2));
    CHECK(list[2].problem_name == "sample");
    CHECK(list[2].device == device_key(k_gpu));
    CHECK(list[2].trials == 2);
    CHECK(list[2].valid == 2);
    CHECK(list[2].best_median == 4.0);
    CHECK(list[2].best_error == 1e-5);
    CHECK(list[2].best_template == "direct");
    CHECK(list[2].updated == "2024-01-01T00:00:02.000Z");
}

TEST_CASE("problems are found by key and by name, and a name is never lost to an empty one") {
    Fixture f;
    Trial trial = sample_trial(sample_problem(2), 1, 1.0);
    trial.problem_name = "layer; DROP TABLE trial; --'";
    f.database.record(k_gpu, trial, {});
    f.record(2, 1.0, 1e-6, 4);
    CHECK(f.database.find_problems(trial.problem_name) == std::vector<Problem>{sample_problem(2)});
    trial.problem_name.clear();
    f.database.record(k_gpu, trial, {});
    CHECK(f.database.find_problems("layer; DROP TABLE trial; --'").size() == 1);
    CHECK(f.database.find_problems("").empty());
    CHECK(f.database.find_problems("layer").empty());
}

TEST_CASE("ceilings are kept for each device, the last ones count") {
    Fixture f;
    CHECK_FALSE(f.database.ceilings(device_key(k_gpu)));
    f.database.store_ceilings(k_gpu, {1e12, 2e13, 0.002});
    f.database.store_ceilings(k_gpu, {3e12, 4e13, 0.001, 4e14, 8e14});
    f.database.store_ceilings(sample_emulator(), {1e9, 2e9, 0.5});
    const auto found = f.database.ceilings(device_key(k_gpu));
    REQUIRE(found);
    CHECK(found->copy_bytes_per_second == 3e12);
    CHECK(found->fma_flops_per_second == 4e13);
    CHECK(found->empty_launch_milliseconds == 0.001);
    CHECK(found->tf32_flops_per_second == 4e14);
    CHECK(found->bf16_flops_per_second == 8e14);
}

TEST_CASE("requests are counted") {
    Fixture f;
    for (int i = 0; i < 3; ++i)
        f.database.note_request(k_gpu, sample_problem(), 1e-4);
    f.database.note_request(k_gpu, sample_problem(), 1e-3);
    CHECK(query_sql(f.path, "SELECT count FROM request ORDER BY tolerance") == std::vector<std::string>{"3", "1"});
    CHECK(f.database.list().empty());
}

TEST_CASE("a hundred thousand trials are listed, and the fastest is found among them") {
    Fixture f;
    f.record(1, 50.0);
    run_sql(f.path,
            "INSERT INTO trial SELECT NULL, problem, device, template, '{\"number\":' || n.value || '}', "
            "CASE n.value % 3 WHEN 0 THEN 'valid' WHEN 1 THEN 'compile_error' ELSE 'wrong_result' END, reason, "
            "error_relative, error_absolute, error_index, error_distribution, 1000.0 - n.value / 1000.0, minimum_ms, "
            "spread, samples_ms, dropped_early, registers, static_shared_bytes, local_bytes, "
            "blocks_per_multiprocessor, compile_ms, plan, binary_key, driver_version, compiler_version, created, NULL, "
            "1000.0 - n.value / 1000.0, '', n.value = 99999, 0 FROM "
            "trial, (WITH RECURSIVE c (value) AS (VALUES (2) UNION ALL SELECT value + 1 FROM c LIMIT 99999) SELECT * "
            "FROM c) n WHERE trial.id = 1");
    const auto list = f.database.list();
    REQUIRE(list.size() == 1);
    CHECK(list[0].trials == 100000);
    CHECK(list[0].valid == 33334);  // the first one, and 3, 6, ... 99999
    CHECK(list[0].best_median == 50.0);
    CHECK(f.winning_number(1) == 1);
    // A strict one is found behind all the others, by the index and not by a sort.
    run_sql(f.path,
            "UPDATE trial SET strict = 0, digest = NULL WHERE id = 1; UPDATE trial SET binary_key = (SELECT binary_key "
            "FROM trial WHERE id = 1)");
    CHECK(f.winning_number(1, true) == 99999);
}

TEST_CASE("whether a trial is strict comes back, and no strict request gets one that is not") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        INFO("seed " << seed);
        Fixture f;
        std::mt19937 random(seed);
        std::vector<Trial> trials;
        for (int number = 0; number < 30; ++number) {
            Trial trial = sample_trial(sample_problem(), number, 1 + static_cast<double>(random() % 1000) / 10,
                                       std::pow(10.0, -2.0 - static_cast<double>(random() % 5)));
            trial.outcome.timing.dropped_early = false;
            trial.outcome.timing.rank = 0;
            trial.strict = random() % 3 == 0;
            trial.reach = static_cast<double>(random() % 3) / 256;
            f.database.record(k_gpu, trial, sample_binary(number));
            trials.push_back(trial);
        }
        const auto stored = f.database.trials(sample_problem(), device_key(k_gpu));
        REQUIRE(stored.size() == trials.size());
        for (std::size_t i = 0; i < trials.size(); ++i)
            check_same(stored[i], trials[i]);
        for (const bool strict : {false, true}) {
            for (int power = -8; power <= -1; ++power) {
                const double tolerance = 1.01 * std::pow(10.0, power);
                double best = std::numeric_limits<double>::infinity();
                for (const Trial& trial : trials) {
                    if (trial.outcome.error.relative <= tolerance && (trial.strict || !strict))
                        best = std::min(best, trial.outcome.timing.median);
                }
                const auto found = f.database.winner(sample_problem(), k_gpu, tolerance, strict);
                REQUIRE(found.has_value() == std::isfinite(best));
                const auto other = f.database.winner_of_other_batch(sample_problem(3), k_gpu, tolerance, strict);
                REQUIRE(other.has_value() == found.has_value());
                if (!found) continue;
                CHECK(found->trial.outcome.timing.median == best);
                CHECK((found->trial.strict || !strict));
                CHECK((other->trial.strict || !strict));
            }
        }
        CHECK(f.database.take_warnings().empty());
    }
}

TEST_CASE("a trial whose strictness changed on the disk is passed over") {
    for (const bool strict : {false, true}) {
        Fixture f;
        Trial trial = sample_trial(sample_problem(), 1, 1.0);
        trial.strict = strict;
        f.database.record(k_gpu, trial, sample_binary(1));
        run_sql(f.path, "UPDATE trial SET strict = 1 - strict");
        CHECK(f.winning_number(1) == -1);
        CHECK(f.database.take_warnings().size() == 1);
    }
}

TEST_CASE("the views for people name the winner and what is in quarantine") {
    Fixture f;
    f.record(1, 5.0);
    f.record(2, 4.0);
    Trial failed = sample_trial(sample_problem(), 3, 0);
    failed.outcome.kind = OutcomeKind::crashed;
    f.database.record(k_gpu, failed, {});
    failed.config["number"] = 4;
    failed.outcome.kind = OutcomeKind::compile_error;
    f.database.record(k_gpu, failed, {});
    CHECK(query_sql(f.path, "SELECT json_extract(config, '$.number') FROM winner") == std::vector<std::string>{"2"});
    CHECK(query_sql(f.path, "SELECT json_extract(config, '$.number') FROM quarantine") ==
          std::vector<std::string>{"3"});
}

TEST_CASE("machine code that a replaced trial leaves behind goes with it, unless another trial names it") {
    const ScratchFolder scratch;
    const std::filesystem::path path = scratch / "t.db";
    Database database(path, OpenMode::read_write);
    const auto keys = [&] { return query_sql(path, "SELECT key FROM binary ORDER BY rowid"); };
    Trial first = sample_trial(sample_problem(), 1, 1.0);
    Trial second = sample_trial(sample_problem(), 2, 2.0);
    const std::string shared = content_hash("shared");
    const std::string own = content_hash("own");
    first.outcome.binary_key = second.outcome.binary_key = shared;
    database.record(sample_gpu(), first, sample_binary(1));
    database.record(sample_gpu(), second, sample_binary(1));
    first.outcome.binary_key = own;
    database.record(sample_gpu(), first, sample_binary(2));
    CHECK(keys() == std::vector<std::string>{shared, own});
    database.record(sample_gpu(), first, {});  // timed again: the code stays
    CHECK(keys() == std::vector<std::string>{shared, own});
    second.outcome.binary_key.clear();
    second.outcome.kind = OutcomeKind::crashed;
    database.record(sample_gpu(), second, {});
    CHECK(keys() == std::vector<std::string>{own});
}
