#include "cache/schema.hpp"

#include "cache/database.hpp"
#include "samples.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;

namespace {

const auto k_open = [](const std::filesystem::path& path, OpenMode mode) { const Database database(path, mode); };

void check_refused(const std::filesystem::path& path, const std::vector<std::string>& words) {
    const std::string before = read_bytes(path);
    for (const OpenMode mode : {OpenMode::read_write, OpenMode::read_only}) {
        const std::string error = cache_error([&] { k_open(path, mode); });
        INFO(error);
        CHECK(error.find(path.string()) != std::string::npos);
        CHECK(error.find('\n') == std::string::npos);
        for (const std::string& word : words)
            CHECK(error.find(word) != std::string::npos);
        CHECK(read_bytes(path) == before);
        CHECK(names_in(path.parent_path()).size() == 1);
    }
}

/// As a version before 3 kept it.
Trial without_rank_and_remark(Trial trial) {
    trial.outcome.timing.rank = 0;
    trial.outcome.timing.remark.clear();
    return trial;
}

}  // namespace

TEST_CASE("the file says whose it is and in which version, and all tables are strict") {
    const ScratchFolder scratch;
    k_open(scratch / "t.db", OpenMode::read_write);
    CHECK(query_sql(scratch / "t.db", "PRAGMA user_version") == std::vector<std::string>{"5"});
    CHECK(query_sql(scratch / "t.db",
                    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND "
                    "NOT strict AND name NOT LIKE 'sqlite_%'")
              .empty());
    CHECK(query_sql(scratch / "t.db", "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
    CHECK(query_sql(scratch / "t.db", "PRAGMA foreign_key_check").empty());
}

TEST_CASE("the problem table has a column for every field") {
    CHECK(problem_columns() ==
          "spatial_axes, batch, in_channels, out_channels, groups, input_d, input_h, input_w, kernel_d, kernel_h, "
          "kernel_w, stride_d, stride_h, stride_w, padding_d, padding_h, padding_w, output_padding_d, "
          "output_padding_h, output_padding_w, dilation_d, dilation_h, dilation_w, bias, dtype, layout");
}

TEST_CASE("a newer version is refused, naming both, and is left alone") {
    const ScratchFolder scratch;
    k_open(scratch / "t.db", OpenMode::read_write);
    run_sql(scratch / "t.db", "PRAGMA user_version = 7; PRAGMA journal_mode = DELETE");
    check_refused(scratch / "t.db", {"newer", "version 7", "up to 5"});
}

TEST_CASE("a file of version 1 is brought up to date when opened for writing, with all that it holds") {
    const ScratchFolder scratch;
    {
        Database database(scratch / "new.db", OpenMode::read_write);
        database.record(sample_gpu(), sample_trial(sample_problem(), 1, 0.5), sample_binary(1));
    }
    write_bytes(scratch / "from.db", read_bytes(scratch / "new.db"));
    run_sql(scratch / "from.db", k_without_version_3);
    run_sql(scratch / "t.db", read_bytes(TCONV_VERSION_1_SCHEMA));
    run_sql(scratch / "t.db",
            "ATTACH '" + (scratch / "from.db").string() +
                "' AS new; INSERT INTO device SELECT * FROM new.device; INSERT INTO problem SELECT * FROM new.problem; "
                "INSERT INTO template SELECT * FROM new.template; INSERT INTO binary SELECT * FROM new.binary; "
                "INSERT INTO trial SELECT * FROM new.trial; INSERT INTO "
                "ceilings VALUES (1, 4e12, 6e13, 0.003, 'then')");
    const std::string before = read_bytes(scratch / "t.db");

    const std::string refusal = cache_error([&] { k_open(scratch / "t.db", OpenMode::read_only); });
    CHECK(refusal.find("older tconv") != std::string::npos);
    CHECK(read_bytes(scratch / "t.db") == before);

    Database database(scratch / "t.db", OpenMode::read_write);
    CHECK(query_sql(scratch / "t.db", "PRAGMA user_version") == std::vector<std::string>{"5"});
    const char* const shape =
        "SELECT t.name || ' ' || c.name || ' ' || c.type || ' ' || c.\"notnull\" FROM pragma_table_list t, "
        "pragma_table_info(t.name) c WHERE t.schema = 'main' ORDER BY t.name, c.cid";
    CHECK(query_sql(scratch / "t.db", shape) == query_sql(scratch / "new.db", shape));

    const auto ceilings = database.ceilings(device_key(sample_gpu()));
    REQUIRE(ceilings);
    CHECK(ceilings->copy_bytes_per_second == 4e12);
    CHECK(ceilings->fma_flops_per_second == 6e13);
    CHECK(ceilings->empty_launch_milliseconds == 0.003);
    CHECK(ceilings->tf32_flops_per_second == 0);
    CHECK(ceilings->bf16_flops_per_second == 0);
    const auto winner = database.winner(sample_problem(), sample_gpu(), 1);
    REQUIRE(winner);
    check_same(winner->trial, without_rank_and_remark(sample_trial(sample_problem(), 1, 0.5)));
    CHECK(winner->binary == sample_binary(1));
    database.store_ceilings(sample_gpu(), {1, 2, 3, 4, 5});
    CHECK(database.ceilings(device_key(sample_gpu()))->bf16_flops_per_second == 5);
}

TEST_CASE("a file of version 2 is brought up to date when opened for writing") {
    const ScratchFolder scratch;
    const std::filesystem::path path = scratch / "t.db";
    {
        Database database(path, OpenMode::read_write);
        database.record(sample_gpu(), sample_trial(sample_problem(), 1, 0.5), sample_binary(1));
    }
    const char* const shape = "SELECT name FROM sqlite_schema ORDER BY name";
    const auto wanted = query_sql(path, shape);
    run_sql(path, std::string("PRAGMA journal_mode = DELETE; ") + k_without_version_3 + "PRAGMA user_version = 2");
    CHECK(cache_error([&] { k_open(path, OpenMode::read_only); }).find("older tconv") != std::string::npos);
    const Database writer(path, OpenMode::read_write);
    CHECK(query_sql(path, "PRAGMA user_version") == std::vector<std::string>{"5"});
    CHECK(query_sql(path, shape) == wanted);
    const auto winner = writer.winner(sample_problem(), sample_gpu(), 1);
    REQUIRE(winner);
    check_same(winner->trial, without_rank_and_remark(sample_trial(sample_problem(), 1, 0.5)));
    CHECK(winner->binary == sample_binary(1));
}

TEST_CASE("a file of version 3 is brought up to date: its trials are strict, and their digests still hold") {
    const ScratchFolder scratch;
    const std::filesystem::path path = scratch / "t.db";
    {
        Database database(path, OpenMode::read_write);
        database.record(sample_gpu(), sample_trial(sample_problem(), 1, 0.5), sample_binary(1));
    }
    const char* const shape = "SELECT name, sql FROM sqlite_schema WHERE type <> 'table' ORDER BY name";
    const auto wanted = query_sql(path, shape);
    run_sql(path, std::string("PRAGMA journal_mode = DELETE; ") + k_without_version_4 + "PRAGMA user_version = 3");
    CHECK(cache_error([&] { k_open(path, OpenMode::read_only); }).find("older tconv") != std::string::npos);
    Database database(path, OpenMode::read_write);
    CHECK(query_sql(path, "PRAGMA user_version") == std::vector<std::string>{"5"});
    CHECK(query_sql(path, shape) == wanted);
    CHECK(query_sql(path, "SELECT strict FROM trial") == std::vector<std::string>{"1"});
    CHECK(query_sql(path, "SELECT count(*) FROM trial WHERE digest IS NULL") == std::vector<std::string>{"0"});
    const auto winner = database.winner(sample_problem(), sample_gpu(), 1, true);
    REQUIRE(winner);
    check_same(winner->trial, sample_trial(sample_problem(), 1, 0.5));
    CHECK(database.take_warnings().empty());
}

TEST_CASE("trials of channels-last problems from before version 5 are gone where the order of the weights matters") {
    Problem of_one_channel = sample_problem();
    Problem of_one_tap = of_one_channel;
    of_one_tap.out_channels = 9;
    of_one_tap.kernel = {1, 1, 1};
    Problem channels_last = of_one_tap;
    channels_last.kernel = {1, 1, 3};
    Problem channels_first = channels_last;
    channels_first.layout = Layout::nchw;

    const ScratchFolder scratch;
    const std::filesystem::path path = scratch / "t.db";
    {
        Database database(path, OpenMode::read_write);
        for (const Problem& problem : {of_one_channel, of_one_tap, channels_last, channels_first})
            database.record(sample_gpu(), sample_trial(problem, 1, 0.5), sample_binary(1));
        CHECK(database.winner(channels_last, sample_gpu(), 1));
    }
    run_sql(path, "PRAGMA journal_mode = DELETE; PRAGMA user_version = 4");
    CHECK(cache_error([&] { k_open(path, OpenMode::read_only); }).find("older tconv") != std::string::npos);
    const Database database(path, OpenMode::read_write);
    CHECK_FALSE(database.winner(channels_last, sample_gpu(), 1));
    CHECK_FALSE(database.winner_of_other_batch(channels_last, sample_gpu(), 1));
    CHECK(database.trials(channels_last, device_key(sample_gpu())).empty());
    for (const Problem& kept : {of_one_channel, of_one_tap, channels_first})
        CHECK(database.winner(kept, sample_gpu(), 1));
}

TEST_CASE("a damaged file of version 1 is an error that leaves it at version 1") {
    const ScratchFolder scratch;
    run_sql(scratch / "t.db", read_bytes(TCONV_VERSION_1_SCHEMA));
    run_sql(scratch / "t.db", "DROP TABLE ceilings");
    CHECK_FALSE(cache_error([&] { k_open(scratch / "t.db", OpenMode::read_write); }).empty());
    CHECK(query_sql(scratch / "t.db", "PRAGMA user_version") == std::vector<std::string>{"1"});
}

TEST_CASE("another program's database is refused and left alone") {
    const ScratchFolder scratch;
    run_sql(scratch / "t.db", "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
    check_refused(scratch / "t.db", {"another program"});
    run_sql(scratch / "t.db", "PRAGMA application_id = 42; PRAGMA user_version = 1");
    check_refused(scratch / "t.db", {"another program"});
}

TEST_CASE("a file that is no database is refused and left alone") {
    const ScratchFolder scratch;
    write_bytes(scratch / "t.db", std::string(100000, 'x'));
    check_refused(scratch / "t.db", {"is not an SQLite database"});
    write_bytes(scratch / "t.db", "short text");
    check_refused(scratch / "t.db", {"is not an SQLite database"});
}

TEST_CASE("an empty file is filled when opened for writing and is an error when not") {
    const ScratchFolder scratch;
    write_bytes(scratch / "t.db", "");
    CHECK(cache_error([&] { k_open(scratch / "t.db", OpenMode::read_only); }).find("is empty") != std::string::npos);
    CHECK(read_bytes(scratch / "t.db").empty());
    k_open(scratch / "t.db", OpenMode::read_write);
    k_open(scratch / "t.db", OpenMode::read_only);
}

TEST_CASE("a file with the right marks and the wrong tables is an error at its first use") {
    const ScratchFolder scratch;
    run_sql(scratch / "t.db", "PRAGMA application_id = 0x74636e76; PRAGMA user_version = 5; CREATE TABLE trial (x)");
    Database database(scratch / "t.db", OpenMode::read_write);
    const std::vector<std::string> errors{
        cache_error([&] { (void)database.list(); }),
        cache_error([&] { (void)database.winner(sample_problem(), sample_gpu(), 1); }),
        cache_error([&] { database.record(sample_gpu(), sample_trial(sample_problem(), 1, 1), {}); })};
    for (const std::string& error : errors)
        CHECK(error.find("tables of a tconv database") != std::string::npos);
}

TEST_CASE("views and triggers of a file from elsewhere do not run") {
    const ScratchFolder scratch;
    {
        Database database(scratch / "t.db", OpenMode::read_write);
        database.record(sample_gpu(), sample_trial(sample_problem(), 1, 1), sample_binary(1));
    }
    SECTION("a trigger") {
        run_sql(scratch / "t.db", "CREATE TRIGGER bad AFTER INSERT ON trial BEGIN DELETE FROM trial; END");
        Database database(scratch / "t.db", OpenMode::read_write);
        database.record(sample_gpu(), sample_trial(sample_problem(), 2, 1), sample_binary(2));
        CHECK(database.trials(sample_problem(), device_key(sample_gpu())).size() == 2);
    }
    SECTION("a view in a table's place") {
        run_sql(scratch / "t.db", "ALTER TABLE trial RENAME TO hidden; CREATE VIEW trial AS SELECT * FROM hidden");
        const Database database(scratch / "t.db", OpenMode::read_only);
        CHECK_FALSE(cache_error([&] { (void)database.winner(sample_problem(), sample_gpu(), 1); }).empty());
    }
}
