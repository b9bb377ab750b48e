#include <random>
#include <set>

#include "cache/database.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/launch_plan.hpp"
#include "samples.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;

namespace {

const DeviceInfo k_gpu = sample_gpu();

/// A database with some trials, closed, so that all is in the one file.
void make_database(const std::filesystem::path& path) {
    Database database(path, OpenMode::read_write);
    for (int i = 0; i < 12; ++i) {
        Trial trial = sample_trial(sample_problem(1 + i % 3), i, 1.0 + i);
        if (i % 4 == 3) trial.outcome.kind = OutcomeKind::wrong_result;
        database.record(k_gpu, trial, sample_binary(i));
    }
    database.store_ceilings(k_gpu, {1e12, 2e13, 0.002});
}

/// Checks that a trial of a damaged file is one that was stored, whole: but for the problem's name and the time stamp,
/// which decide nothing.
void check_as_stored(const Trial& trial) {
    const std::int64_t number = trial.config.count("number") == 0 ? -1 : trial.config.at("number");
    REQUIRE(number >= 0);
    REQUIRE(number <= 12);
    const bool added = number == 12;  // by use_everything
    Trial stored = sample_trial(sample_problem(added ? 2 : 1 + number % 3), static_cast<int>(number),
                                added ? 0.5 : 1.0 + static_cast<double>(number));
    if (number % 4 == 3) stored.outcome.kind = OutcomeKind::wrong_result;
    stored.problem_name = trial.problem_name;
    check_same(trial, stored);
}

/// Uses every function; only Error(cache) may come out, and machine code only as it went in.
void use_everything(const std::filesystem::path& path, OpenMode mode) {
    static const std::set<std::string> binaries = [] {
        std::set<std::string> all;
        for (int i = 0; i < 13; ++i)
            all.insert(sample_binary(i));
        return all;
    }();
    const auto check_winner = [&](const std::optional<Winner>& winner) {
        if (!winner) return;
        CHECK(binaries.count(winner->binary) == 1);
        check_as_stored(winner->trial);
    };
    const auto attempt = [](const std::function<void()>& body) {
        const std::string error = cache_error(body);
        CHECK(error.rfind("wrong kind", 0) == std::string::npos);
        CHECK(error.find('\n') == std::string::npos);
    };
    attempt([&] {
        Database database(path, mode);
        attempt([&] { (void)database.list(); });
        attempt([&] { (void)database.find_problems("sample"); });
        attempt([&] { (void)database.ceilings(device_key(k_gpu)); });
        for (std::int64_t batch = 1; batch <= 4; ++batch) {
            attempt([&] {
                for (const Trial& trial : database.trials(sample_problem(batch), device_key(k_gpu)))
                    check_as_stored(trial);
            });
            attempt([&] { check_winner(database.winner(sample_problem(batch), k_gpu, 1)); });
            attempt([&] { check_winner(database.winner_of_other_batch(sample_problem(batch), k_gpu, 1)); });
        }
        if (mode == OpenMode::read_only) return;
        attempt([&] { database.record(k_gpu, sample_trial(sample_problem(), 12, 0.5), sample_binary(12)); });
        attempt([&] { database.store_ceilings(k_gpu, {}); });
        database.note_request(k_gpu, sample_problem(9), 1e-4);
    });
}

}  // namespace

TEST_CASE("whatever bytes of the file are changed, a use ends with an answer or with Error(cache)") {
    const ScratchFolder scratch;
    make_database(scratch / "good.db");
    const std::string good = read_bytes(scratch / "good.db");
    const std::size_t page = 4096;
    for (unsigned seed = 0; seed < 150; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        std::string bytes = good;
        const auto changes = 1 + random() % 24;
        for (std::size_t i = 0; i < changes; ++i) {
            // Half of the changes hit the heads of pages, where the structure is.
            std::size_t position = random() % bytes.size();
            if (random() % 2 == 0) position = position / page * page + random() % 120;
            bytes[std::min(position, bytes.size() - 1)] = static_cast<char>(random());
        }
        for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
            write_bytes(scratch / "t.db", bytes);
            use_everything(scratch / "t.db", mode);
            for (const char* const suffix : {"", "-wal", "-shm", "-journal"})
                std::filesystem::remove((scratch / "t.db").string() + suffix);
        }
    }
}

TEST_CASE("wherever the file is cut short, a use ends with an answer or with Error(cache)") {
    const ScratchFolder scratch;
    make_database(scratch / "good.db");
    const std::string good = read_bytes(scratch / "good.db");
    for (std::size_t size = 0; size < good.size(); size += 1021) {
        INFO("size " << size);
        for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
            write_bytes(scratch / "t.db", good.substr(0, size));
            use_everything(scratch / "t.db", mode);
            for (const char* const suffix : {"", "-wal", "-shm", "-journal"})
                std::filesystem::remove((scratch / "t.db").string() + suffix);
        }
    }
}

TEST_CASE("a log full of garbage loses nothing that is in the file") {
    const ScratchFolder scratch;
    make_database(scratch / "t.db");
    write_bytes(scratch / "t.db-wal", std::string(50000, 'x'));
    const Database database(scratch / "t.db", OpenMode::read_write);
    CHECK(database.list().size() == 3);
}

TEST_CASE("a winner whose row is damaged is passed over, with a warning") {
    const ScratchFolder scratch;
    const std::filesystem::path path = scratch / "t.db";
    {
        Database database(path, OpenMode::read_write);
        database.record(k_gpu, sample_trial(sample_problem(), 1, 1.0), sample_binary(1));
        database.record(k_gpu, sample_trial(sample_problem(), 2, 2.0), sample_binary(2));
    }
    const std::string fastest = " WHERE id = 1";
    const std::string code = " WHERE key = (SELECT binary_key FROM trial WHERE id = 1)";
    const std::vector<std::string> damages{
        "UPDATE trial SET plan = 'no JSON'" + fastest,
        "UPDATE trial SET plan = '{}'" + fastest,
        "UPDATE trial SET plan = substr(plan, 1, 100)" + fastest,
        "UPDATE trial SET plan = replace(plan, '\"workspace_bytes\":1024', '\"workspace_bytes\":99999999999')" +
            fastest,
        "UPDATE trial SET plan = replace(plan, '\"offset\":64', '\"offset\":640000')" + fastest,
        "UPDATE trial SET plan = replace(plan, '\"block\":[32,4,1]', '\"block\":[1024,4,1]')" + fastest,
        "UPDATE trial SET plan = replace(plan, '\"grid\":[7,2,1]', '\"grid\":[-7,2,1]')" + fastest,
        "UPDATE trial SET plan = replace(plan, '\"shared_bytes\":4096', '\"shared_bytes\":999999999')" + fastest,
        "UPDATE trial SET plan = replace(plan, 'tile_count', 'x=0;}evil();int y')" + fastest,
        "UPDATE trial SET config = 'no JSON'" + fastest,
        "UPDATE trial SET config = '{\"x;evil()\":1}'" + fastest,
        "UPDATE trial SET samples_ms = '[\"x\"]'" + fastest,
        "UPDATE trial SET registers = -1" + fastest,
        "UPDATE trial SET binary_key = 'none'" + fastest,
        "DELETE FROM binary" + code,
        "UPDATE binary SET compressed = x'00'" + code,
        "UPDATE binary SET size = size + 1" + code,
        "UPDATE binary SET size = 9000000000000000000" + code,
        "UPDATE binary SET size = 0, compressed = x''" + code,
        "UPDATE binary SET content_hash = 'x'" + code,
        "UPDATE binary SET compressed = (SELECT b.compressed FROM binary b WHERE b.key = (SELECT binary_key FROM trial "
        "WHERE id = 2))" +
            code,
    };
    run_sql(path, "PRAGMA journal_mode = DELETE");
    const std::string good = read_bytes(path);
    for (const std::string& damage : damages) {
        INFO(damage);
        write_bytes(path, good);
        // Without the digest, so that the checks behind it are seen at work.
        run_sql(path, damage + "; UPDATE trial SET digest = NULL");
        REQUIRE(read_bytes(path) != good);
        Database database(path, OpenMode::read_only);
        const auto winner = database.winner(sample_problem(), k_gpu, 1);
        REQUIRE(winner);
        CHECK(winner->trial.id == 2);
        CHECK(winner->binary == sample_binary(2));
        const auto warnings = database.take_warnings();
        REQUIRE(warnings.size() == 1);
        CHECK(warnings[0].find("trial 1 of the database") == 0);
    }
}

TEST_CASE("a trial whose row is damaged is not listed, and can be stored again") {
    const ScratchFolder scratch;
    Database database(scratch / "t.db", OpenMode::read_write);
    const Trial trial = sample_trial(sample_problem(), 1, 1.0);
    const std::int64_t id = database.record(k_gpu, trial, sample_binary(1));
    run_sql(scratch / "t.db", "UPDATE trial SET plan = 'x'; UPDATE binary SET compressed = x'00'");
    CHECK(database.trials(sample_problem(), device_key(k_gpu)).empty());
    CHECK(database.take_warnings().size() == 1);
    CHECK(database.record(k_gpu, trial, sample_binary(1)) == id);
    const auto winner = database.winner(sample_problem(), k_gpu, 1);
    REQUIRE(winner);
    CHECK(winner->binary == sample_binary(1));
}

TEST_CASE("a problem whose key is damaged is passed over") {
    const ScratchFolder scratch;
    Database database(scratch / "t.db", OpenMode::read_write);
    for (int i = 1; i <= 3; ++i)
        database.record(k_gpu, sample_trial(sample_problem(i), i, 1.0), sample_binary(i));
    run_sql(scratch / "t.db", "UPDATE problem SET key = 'x' WHERE id = 2");
    CHECK(database.list().size() == 2);
    CHECK(database.find_problems("sample").size() == 2);
    const auto winner = database.winner_of_other_batch(sample_problem(2), k_gpu, 1);
    REQUIRE(winner);
    CHECK(winner->trial.problem.batch == 3);
    CHECK_FALSE(database.take_warnings().empty());
}

TEST_CASE("the plan of another batch is checked for the batch that is asked for") {
    const ScratchFolder scratch;
    Database database(scratch / "t.db", OpenMode::read_write);
    Trial trial = sample_trial(sample_problem(1), 1, 1.0);
    trial.outcome.plan.workspace_bytes_per_batch = 1 << 20;
    database.record(k_gpu, trial, sample_binary(1));
    CHECK(database.winner_of_other_batch(sample_problem(8), k_gpu, 1));
    CHECK_FALSE(database.winner_of_other_batch(sample_problem(1 << 14), k_gpu, 1));  // 16 GiB of workspace
}

TEST_CASE("a row that is sound in itself and not as it was stored is passed over") {
    const ScratchFolder scratch;
    const std::filesystem::path path = scratch / "t.db";
    {
        Database database(path, OpenMode::read_write);
        database.record(k_gpu, sample_trial(sample_problem(), 1, 1.0), sample_binary(1));
        database.record(k_gpu, sample_trial(sample_problem(), 2, 2.0), sample_binary(2));
        Trial other = sample_trial(sample_problem(3), 3, 3.0);
        other.template_hash = content_hash("another template");
        database.record(k_gpu, other, {});
    }
    run_sql(path, "PRAGMA journal_mode = DELETE");
    const std::string good = read_bytes(path);
    for (const char* const change : {
             "problem = 1, template = 2",
             "config = replace(config, '128', '256')",
             "error_relative = error_relative / 2",
             "error_distribution = 'uniform'",
             "median_ms = 0.25",
             "samples_ms = replace(samples_ms, '1.1', '1.2')",
             "registers = 65",
             "plan = replace(plan, '[7,2,1]', '[6,2,1]')",
             "plan = replace(plan, '\"tile_count\":12', '\"tile_count\":13')",
             "binary_key = (SELECT binary_key FROM trial WHERE id = 2)",
             "driver_version = '13.1'",
             "compiler_version = 'NVRTC 13.8'",
         }) {
        INFO(change);
        write_bytes(path, good);
        run_sql(path, std::string("UPDATE trial SET ") + change + " WHERE id = 1");
        REQUIRE(read_bytes(path) != good);
        Database database(path, OpenMode::read_only);
        const auto winner = database.winner(sample_problem(), k_gpu, 1);
        REQUIRE(winner);
        CHECK(winner->trial.id == 2);
        const auto warnings = database.take_warnings();
        REQUIRE(warnings.size() == 1);
        CHECK(warnings[0].find("not as it was stored") != std::string::npos);
    }
}
