#include "cache/care.hpp"

#include <cmath>
#include <random>

#include "core/hash.hpp"
#include "samples.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;

namespace {

const std::string k_present = content_hash("present");
const std::string k_old = content_hash("old");

/// 40 trials of random speed, error and template for each of two problems; some failed, some were dropped early.
void fill_randomly(const std::filesystem::path& path, unsigned seed) {
    std::mt19937 random(seed);
    Database database(path, OpenMode::read_write);
    for (int number = 0; number < 80; ++number) {
        const double error = std::pow(10.0, -1.0 - static_cast<double>(random() % 6));
        Trial trial =
            sample_trial(sample_problem(1 + number % 2), number, 1.0 + static_cast<double>(random() % 20), error);
        trial.template_hash = random() % 3 == 0 ? k_present : k_old;
        trial.outcome.timing.dropped_early = random() % 4 == 0;
        if (random() % 4 == 0) trial.outcome.kind = OutcomeKind::crashed;
        trial.strict = random() % 3 == 0;
        const bool with_code = random() % 5 != 0;  // without it a trial cannot be served
        database.record(sample_gpu(), trial, with_code ? sample_binary(number) : "");
    }
}

/// What is served at each tolerance, freely and strictly, as "number binary".
std::vector<std::string> winners(const std::filesystem::path& path) {
    const Database database(path, OpenMode::read_only);
    std::vector<std::string> served;
    for (const std::int64_t batch : {1, 2}) {
        for (int power = -7; power <= 0; ++power) {
            for (const bool strict : {false, true}) {
                const auto winner =
                    database.winner(sample_problem(batch), sample_gpu(), 1.01 * std::pow(10.0, power), strict);
                served.push_back(
                    winner ? std::to_string(winner->trial.config.at("number")) + content_hash(winner->binary) : "none");
            }
        }
    }
    return served;
}

}  // namespace

TEST_CASE("a sound database is found sound, with all that it holds counted") {
    const ScratchFolder scratch;
    const auto path = scratch / "t.db";
    fill_randomly(path, 1);
    run_sql(path, "PRAGMA journal_mode = DELETE");
    const std::string before = read_bytes(path);
    const VerifyResult result = verify_database(path);
    CHECK(result.damages == 0);
    CHECK(result.sentences.empty());
    CHECK(result.problems == 2);
    CHECK(result.trials == 80);
    CHECK(result.plans == 80);
    CHECK(std::to_string(result.binaries) == query_sql(path, "SELECT count(*) FROM binary").at(0));
    CHECK(result.orphans == 0);
    CHECK(read_bytes(path) == before);
}

TEST_CASE("every kind of damage is found and named") {
    const ScratchFolder scratch;
    const auto path = scratch / "t.db";
    {
        Database database(path, OpenMode::read_write);
        database.record(sample_gpu(), sample_trial(sample_problem(), 1, 1.0), sample_binary(1));
        database.record(sample_gpu(), sample_trial(sample_problem(), 2, 1.0), sample_binary(2));
    }
    run_sql(path, "PRAGMA journal_mode = DELETE");
    const std::string good = read_bytes(path);
    const std::vector<std::pair<std::string, std::string>> damages{
        {"UPDATE trial SET plan = 'no JSON' WHERE id = 1", "trial 1: "},
        {"UPDATE trial SET plan = replace(plan, '\"offset\":64', '\"offset\":640000') WHERE id = 2", "trial 2: "},
        {"UPDATE trial SET plan = replace(plan, '\"block\":[32,4,1]', '\"block\":[1024,4,1]') WHERE id = 1", "trial 1"},
        {"UPDATE trial SET outcome = 'splendid' WHERE id = 1", "splendid"},
        {"UPDATE trial SET config = 'x' WHERE id = 1", "trial 1: "},
        {"UPDATE binary SET compressed = x'00' WHERE rowid = 1", "does not match its hash"},
        {"UPDATE binary SET content_hash = 'x' WHERE rowid = 1", "does not match its hash"},
        {"UPDATE binary SET size = size + 1 WHERE rowid = 1", "does not match its hash"},
        {"UPDATE problem SET key = 'nonsense'", "problem 1: "},
        {"PRAGMA foreign_keys = OFF; DELETE FROM template", "refers to a row that is missing"},
        {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '(binary_key)', '(config)') WHERE "
         "name = 'trial_by_binary'",
         "the file: "},
    };
    for (const auto& [sql, part] : damages) {
        INFO(sql);
        write_bytes(path, good);
        run_sql(path, sql);
        const VerifyResult result = verify_database(path);
        CHECK(result.damages >= 1);
        REQUIRE_FALSE(result.sentences.empty());
        std::string all;
        for (const std::string& sentence : result.sentences) {
            CHECK(sentence.find('\n') == std::string::npos);
            all += sentence + '\n';
        }
        INFO(all);
        CHECK(all.find(part) != std::string::npos);
    }
}

TEST_CASE("whatever bytes are changed, a check ends with an answer, and code that it calls sound is as it went in") {
    const ScratchFolder scratch;
    const auto path = scratch / "t.db";
    fill_randomly(scratch / "good.db", 2);
    run_sql(scratch / "good.db", "PRAGMA journal_mode = DELETE");
    const std::string good = read_bytes(scratch / "good.db");
    for (unsigned seed = 0; seed < 60; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        std::string bytes = good;
        for (auto changes = 1 + random() % 8; changes > 0; --changes)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        write_bytes(path, bytes);
        bool sound = false;
        const std::string refused = cache_error([&] { sound = verify_database(path).damages == 0; });
        CHECK(refused.rfind("wrong kind", 0) == std::string::npos);
        if (sound) CHECK(query_sql(path, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
    }
}

TEST_CASE("pruning stale trials changes no winner at any tolerance") {
    for (unsigned seed = 1; seed <= 12; ++seed) {
        INFO("seed " << seed);
        const ScratchFolder scratch;
        const auto path = scratch / "t.db";
        fill_randomly(path, seed);
        const auto before = winners(path);
        const auto present = query_sql(path,
                                       "SELECT t.id FROM trial t JOIN template s ON s.id = t.template "
                                       "WHERE s.source_hash = '" +
                                           k_present + "'");
        const PruneResult pruned = prune_database(path, {true, {{"direct", k_present}}});
        CHECK(winners(path) == before);
        CHECK(pruned.trials > 0);
        CHECK(pruned.note.empty());
        CHECK(pruned.bytes_after < pruned.bytes_before);
        const auto trials = std::stoll(query_sql(path, "SELECT count(*) FROM trial").at(0));
        CHECK(trials == 80 - pruned.trials);
        // Nothing of the present template goes, and what stays of the old one is there because it wins.
        CHECK(query_sql(path, "SELECT t.id FROM trial t JOIN template s ON s.id = t.template WHERE s.source_hash = '" +
                                  k_present + "'") == present);
        CHECK(trials - static_cast<std::int64_t>(present.size()) <= static_cast<std::int64_t>(before.size()));
        CHECK(verify_database(path).damages == 0);
        CHECK(verify_database(path).orphans == 0);
        CHECK(prune_database(path, {true, {{"direct", k_present}}}).trials == 0);
    }
}

TEST_CASE("pruning removes orphans and leaves all that something names") {
    const ScratchFolder scratch;
    const auto path = scratch / "t.db";
    fill_randomly(path, 3);
    {
        Database database(path, OpenMode::read_write);
        database.note_request(sample_gpu(), sample_problem(7), 1e-4);
        database.record(sample_gpu(), sample_trial(sample_problem(8), 1, 1.0), {});
    }
    const auto before = winners(path);
    const auto code = query_sql(path, "SELECT count(*) FROM binary");
    run_sql(path,
            "INSERT INTO binary VALUES ('orphan', 1, 'x', x'00'), ('another', 1, 'x', x'00');"
            "DELETE FROM trial WHERE problem = (SELECT id FROM problem WHERE batch = 8)");
    CHECK(verify_database(path).damages == 2);
    const PruneResult pruned = prune_database(path, {});
    CHECK(pruned.trials == 0);
    CHECK(pruned.binaries == 2);
    CHECK(pruned.problems == 1);
    CHECK(query_sql(path, "SELECT count(*) FROM binary") == code);
    CHECK(query_sql(path, "SELECT batch FROM problem ORDER BY batch") == std::vector<std::string>{"1", "2", "7"});
    CHECK(winners(path) == before);
    CHECK(verify_database(path).damages == 0);
}
