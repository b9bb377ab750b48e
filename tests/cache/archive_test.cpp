#include "cache/archive.hpp"

#include "archive_samples.hpp"
#include "cache/code_store.hpp"
#include "cache/database.hpp"
#include "cache/gzip.hpp"
#include "core/hash.hpp"
#include "samples.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;

namespace {

using Words = std::vector<std::string>;

/// One trial on a machine of its own, recorded at `created`.
void fill_with_one(const Machine& machine, double median, const std::string& created) {
    {
        Database database(machine.database, OpenMode::read_write);
        database.record(sample_gpu(), sample_trial(sample_problem(), 1, median), sample_binary(1));
        database.store_ceilings(sample_gpu(), {median, 1, 1});
    }
    run_sql(machine.database, "UPDATE trial SET created = '" + created + "'; UPDATE ceilings SET measured = '" +
                                  created + "'; PRAGMA wal_checkpoint(TRUNCATE)");
}

Words cubins_of(const Machine& machine) {
    Words names;
    for (const std::string& name : names_in(machine.code))
        if (name.ends_with(".cubin")) names.push_back(name + " " + content_hash(read_bytes(machine.code / name)));
    return names;
}

}  // namespace

TEST_CASE("an archive carries every row and every compiled kernel, whatever they hold") {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        const ScratchFolder scratch;
        const Machine here(scratch / "here");
        const Machine there(scratch / "there");
        fill(here, seed);
        export_from(here, scratch / "a");
        CHECK(import_into(there, scratch / "a").empty());
        CHECK(content_of(there.database) == content_of(here.database));
        CHECK(cubins_of(there) == cubins_of(here));
        CHECK(names_in(scratch.path()) == Words{"a", "here", "there"});

        // Once more: nothing changes.
        const Environment set({{"TCONV_CACHE", there.code.string()}});
        const ImportResult again = import_archive(scratch / "a", there.database);
        CHECK(again.taken == ArchiveCounts{});
        CHECK(again.found.rows.trials > 0);
        CHECK(content_of(there.database) == content_of(here.database));
    }
}

TEST_CASE("machines that exchange archives end with the same content, in either order") {
    const ScratchFolder scratch;
    const Machine one(scratch / "one");
    const Machine two(scratch / "two");
    fill(one, 11);
    fill(two, 12);
    // Names are each machine's own, so they are no part of what is compared.
    for (const Machine& machine : {one, two})
        run_sql(machine.database, "UPDATE problem SET name = 'n'");
    export_from(one, scratch / "from_one");
    export_from(two, scratch / "from_two");
    (void)import_into(one, scratch / "from_two");
    (void)import_into(two, scratch / "from_one");
    CHECK(content_of(one.database) == content_of(two.database));
    CHECK(cubins_of(one) == cubins_of(two));
    CHECK(query_sql(one.database, "PRAGMA foreign_key_check").empty());
    CHECK(query_sql(one.database, "PRAGMA integrity_check") == Words{"ok"});
}

TEST_CASE("of two trials and two measured ceilings the later one stays") {
    for (const bool own_is_later : {false, true}) {
        const ScratchFolder scratch;
        const Machine own(scratch / "own");
        const Machine other(scratch / "other");
        fill_with_one(own, 1.0, own_is_later ? "2026-02-02" : "2026-02-01");
        fill_with_one(other, 2.0, own_is_later ? "2026-02-01" : "2026-02-02");
        export_from(other, scratch / "a");
        (void)import_into(own, scratch / "a");
        const Database database(own.database, OpenMode::read_only);
        const std::vector<Trial> trials = database.trials(sample_problem(), device_key(sample_gpu()));
        REQUIRE(trials.size() == 1);
        CHECK(trials[0].outcome.timing.median == (own_is_later ? 1.0 : 2.0));
        CHECK(database.ceilings(device_key(sample_gpu()))->copy_bytes_per_second == (own_is_later ? 1.0 : 2.0));
    }
}

TEST_CASE("a request keeps the larger count, and a problem its own name") {
    const ScratchFolder scratch;
    const Machine own(scratch / "own");
    const Machine other(scratch / "other");
    const auto ask = [](const Machine& machine, int times, const std::string& name) {
        Database database(machine.database, OpenMode::read_write);
        Trial trial = sample_trial(sample_problem(), 1, 1.0);
        trial.problem_name = name;
        database.record(sample_gpu(), trial, "");
        for (int i = 0; i < times; ++i)
            database.note_request(sample_gpu(), sample_problem(), 1e-4);
    };
    ask(own, 2, "mine");
    ask(other, 5, "theirs");
    export_from(other, scratch / "a");
    for (int repeat = 0; repeat < 2; ++repeat) {
        (void)import_into(own, scratch / "a");
        CHECK(query_sql(own.database, "SELECT count FROM request") == Words{"5"});
        CHECK(query_sql(own.database, "SELECT name FROM problem") == Words{"mine"});
    }
}

TEST_CASE("a damaged binary of one's own is healed") {
    const ScratchFolder scratch;
    const Machine own(scratch / "own");
    fill_with_one(own, 1.0, "2026-02-01");
    export_from(own, scratch / "a");
    run_sql(own.database, "UPDATE binary SET compressed = x'00'");
    CHECK_FALSE(Database(own.database, OpenMode::read_only).winner(sample_problem(), sample_gpu(), 1));
    (void)import_into(own, scratch / "a");
    const auto winner = Database(own.database, OpenMode::read_only).winner(sample_problem(), sample_gpu(), 1);
    REQUIRE(winner);
    CHECK(winner->binary == sample_binary(1));
}

TEST_CASE("a sound entry of the code cache travels although the same code in the database is damaged") {
    const ScratchFolder scratch;
    const Machine here(scratch / "here");
    const Machine there(scratch / "there");
    fill_with_one(here, 1.0, "2026-02-01");
    run_sql(here.database, "UPDATE binary SET compressed = x'00'");
    CodeStore(here.code).put("same", "cubin", sample_binary(1));
    export_from(here, scratch / "a");
    CHECK(import_into(there, scratch / "a").size() == 1);
    CHECK(CodeStore(there.code).get("same", "cubin") == sample_binary(1));
}

TEST_CASE("a damaged entry of the code cache does not travel") {
    const ScratchFolder scratch;
    const Machine here(scratch / "here");
    const Machine there(scratch / "there");
    Database(here.database, OpenMode::read_write);
    const CodeStore store(here.code);
    store.put("sound", "cubin", "good code");
    write_bytes(here.code / "torn.cubin", read_bytes(store.put("torn", "cubin", "bad code")).substr(1));
    export_from(here, scratch / "a");
    CHECK(import_into(there, scratch / "a").empty());
    CHECK(names_in(there.code) == Words{"sound.cubin"});
    CHECK_FALSE(std::filesystem::exists(there.database));  // there was no row
}

TEST_CASE("without a folder that can keep it, compiled code is left out with a warning") {
    const ScratchFolder scratch;
    const Machine here(scratch / "here");
    fill(here, 41, 10);
    export_from(here, scratch / "a");
    const Environment set({{"TCONV_CACHE", std::string("/dev/null/x")}});
    const ImportResult result = import_archive(scratch / "a", scratch / "t.db");
    CHECK(result.taken.compiled == 0);
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0].find("TCONV_CACHE") != std::string::npos);
    CHECK(content_of(scratch / "t.db") == content_of(here.database));
}

TEST_CASE("only the best machine code goes along where that is asked, and each tolerance keeps its winner") {
    const ScratchFolder scratch;
    const Machine here(scratch / "here");
    const Machine there(scratch / "there");
    // The slower, the more accurate, but for every third, which is slower and less accurate: nobody's winner.
    {
        Database database(here.database, OpenMode::read_write);
        const CodeStore store(here.code);
        for (int i = 0; i < 12; ++i) {
            const double error = i % 3 == 2 ? 1 : 1e-3 / (i + 1);
            Trial trial = sample_trial(sample_problem(), i, 1.0 + i, error);
            trial.strict = i == 5;  // slower and less accurate than others, and the only strict one
            trial.outcome.binary_key = content_hash(sample_binary(i));
            database.record(sample_gpu(), trial, sample_binary(i));
            store.put("candidate" + std::to_string(i), "cubin", sample_binary(i));
        }
        store.put("unmeasured", "cubin", "code");
    }
    const Environment set({{"TCONV_CACHE", here.code.string()}});
    const ExportResult result = export_archive({scratch / "a", here.database, true, 3});
    CHECK(result.counts.rows.trials == 12);
    CHECK(result.counts.rows.binaries == 10);  // 8 by accuracy, the third fastest, and the strict one
    CHECK(result.counts.compiled == 10);
    (void)import_into(there, scratch / "a");
    const Database before(here.database, OpenMode::read_only);
    Database after(there.database, OpenMode::read_only);
    CHECK(after.trials(sample_problem(), device_key(sample_gpu())).size() == 12);
    for (int i = 0; i < 12; ++i) {
        const double tolerance = 1.1e-3 / (i + 1);
        const auto expected = before.winner(sample_problem(), sample_gpu(), tolerance);
        const auto found = after.winner(sample_problem(), sample_gpu(), tolerance);
        REQUIRE(found.has_value() == expected.has_value());
        if (!expected) continue;
        CHECK(found->trial.config == expected->trial.config);
        CHECK(found->binary == expected->binary);
    }
    const auto strict = after.winner(sample_problem(), sample_gpu(), 2, true);
    REQUIRE(strict);
    CHECK(strict->trial.config.at("number") == 5);
    CHECK(after.take_warnings().empty());
    CHECK(export_archive({scratch / "b", here.database, true, 0}).counts.rows.binaries == 0);
    CHECK(export_archive({scratch / "b", std::nullopt, true, std::nullopt}).counts.compiled == 13);
    CHECK(export_archive({scratch / "b", here.database, false, std::nullopt}).counts.compiled == 0);
}

TEST_CASE("an archive takes the place of an older one and of nothing else") {
    const ScratchFolder scratch;
    const Machine here(scratch / "here");
    fill_with_one(here, 1.0, "2026-02-01");
    export_from(here, scratch / "a");
    export_from(here, scratch / "a");
    const std::string before = read_bytes(here.database);
    const std::string error = cache_error([&] { export_archive({here.database, here.database, true, std::nullopt}); });
    CHECK(error.find("is no archive") != std::string::npos);
    CHECK(read_bytes(here.database) == before);
    CHECK_FALSE(cache_error([&] {
                    export_archive({scratch / "no" / "a", here.database, true, std::nullopt});
                }).empty());
    CHECK_FALSE(cache_error([&] { export_archive({scratch / "b", scratch / "no.db", true, std::nullopt}); }).empty());
    CHECK(names_in(scratch.path()) == Words{"a", "here"});
}

TEST_CASE("processes import, record and export at once") {
    const ScratchFolder scratch;
    const Machine source(scratch / "source");
    const Machine own(scratch / "own");
    fill(source, 21);
    fill(own, 22);
    export_from(source, scratch / "a");
    const std::vector<int> codes = run_together(4, [&](int child) {
        if (child == 0) fill(own, 23);
        if (child == 1) export_from(own, scratch / "b");
        if (child >= 2) (void)import_into(own, scratch / "a");
        return 0;
    });
    CHECK(codes == std::vector<int>{0, 0, 0, 0});
    const auto content = content_of(own.database);
    CHECK(import_into(own, scratch / "b").empty());
    CHECK(content_of(own.database) == content);  // the archive held nothing that was not there
    CHECK(query_sql(own.database, "PRAGMA integrity_check") == Words{"ok"});
}
