// Archives as nobody should make them: each is refused or taken in part, and what was there before stays.

#include <algorithm>
#include <random>

#include "archive_samples.hpp"
#include "cache/archive.hpp"
#include "cache/code_store.hpp"
#include "cache/schema.hpp"
#include "core/hash.hpp"
#include "samples.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;

namespace {

using Words = std::vector<std::string>;

/// A machine with content, and an archive of another one.
struct Scene {
    ScratchFolder scratch;
    Machine own{scratch / "own"};
    Machine other{scratch / "other"};
    std::filesystem::path archive = scratch / "a";
    std::vector<std::string> before;

    explicit Scene(int trials = 20) {
        fill(own, 31, trials);
        fill(other, 32, trials);
        export_from(other, archive);
        before = content_of(own.database);
    }
    /// The sentence of an import that changes nothing.
    std::string refusal() {
        const std::string error = cache_error([&] { (void)import_into(own, archive); });
        INFO(error);
        CHECK(error.find(archive.string()) != std::string::npos);
        CHECK(error.find('\n') == std::string::npos);
        CHECK(content_of(own.database) == before);
        return error;
    }
};

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what is no archive is refused") {
    Scene scene;
    for (const std::string& bytes : {std::string(), std::string("text"), read_bytes(scene.other.database)}) {
        write_bytes(scene.archive, bytes);
        CHECK(holds(scene.refusal(), "was not made by tconv cache export"));
    }
    std::filesystem::remove(scene.archive);
    CHECK(holds(scene.refusal(), "does not exist"));
    std::filesystem::create_directory(scene.archive);
    CHECK(holds(scene.refusal(), "was not made by"));
}

TEST_CASE("a gzip file with something else inside is refused") {
    Scene scene;
    tamper(scene.archive, "PRAGMA application_id = 5");
    CHECK(holds(scene.refusal(), "another program"));
    export_from(scene.other, scene.archive);
    tamper(scene.archive, "DROP TABLE compiled_code");
    CHECK(holds(scene.refusal(), "compiled_code"));
    export_from(scene.other, scene.archive);
    tamper(scene.archive, "DROP TABLE trial");
    CHECK(holds(scene.refusal(), "trial"));
}

TEST_CASE("an archive of a newer version is refused, naming both") {
    Scene scene;
    tamper(scene.archive, "PRAGMA user_version = 77");
    const std::string error = scene.refusal();
    CHECK(holds(error, "version 77"));
    CHECK(holds(error, "up to " + std::to_string(k_schema_version)));
}

TEST_CASE("an archive of the first version is brought up to date") {
    Scene scene;
    // No version before 4 knew of trials that are not strict.
    const char* const all_strict = "UPDATE trial SET strict = 1, reach = 0, digest = NULL; ";
    tamper(scene.archive, std::string(all_strict) + k_without_version_3 +
                              "ALTER TABLE ceilings DROP COLUMN tf32_flops_per_second; "
                              "ALTER TABLE ceilings DROP COLUMN bf16_flops_per_second; PRAGMA user_version = 1");
    const Machine there(scene.scratch / "there");
    CHECK(import_into(there, scene.archive).empty());
    run_sql(scene.other.database, all_strict);
    run_sql(scene.other.database,
            "UPDATE ceilings SET tf32_flops_per_second = 0, bf16_flops_per_second = 0; "
            "UPDATE trial SET digest = NULL, rank_ms = median_ms, remark = ''");
    CHECK(content_of(there.database) == content_of(scene.other.database));
}

TEST_CASE("an archive that is cut short or changed is refused") {
    Scene scene(8);
    const std::string whole = read_bytes(scene.archive);
    for (std::size_t size = 2; size < whole.size(); size += whole.size() / 12) {
        write_bytes(scene.archive, whole.substr(0, size));
        CHECK(holds(scene.refusal(), "is cut short"));
    }
    write_bytes(scene.archive, whole.substr(0, whole.size() - 1));
    CHECK(holds(scene.refusal(), "is cut short"));
    std::mt19937 random(5);
    for (int round = 0; round < 12; ++round) {
        std::string changed = whole;
        changed[10 + random() % (whole.size() - 10)] ^= static_cast<char>(1 + random() % 255);  // after the header
        write_bytes(scene.archive, changed);
        const std::string error = scene.refusal();
        CHECK((holds(error, "is damaged") || holds(error, "is cut short")));
    }
}

TEST_CASE("damage inside the database of an archive costs rows at most") {
    const std::string source = [] {
        const Scene scene(8);
        return read_bytes(scene.archive);
    }();
    std::mt19937 random(6);
    int refused = 0;
    for (int round = 0; round < 20; ++round) {
        const ScratchFolder scratch;
        const Machine own(scratch / "own");
        fill(own, 33, 5);
        const auto before = content_of(own.database);
        write_bytes(scratch / "a", source);
        tamper(scratch / "a", [&](const std::filesystem::path& database) {
            std::string bytes = read_bytes(database);
            const std::size_t first = 100 + random() % (bytes.size() - 100);  // after the file's header
            for (std::size_t i = first; i < std::min(first + 300, bytes.size()); ++i)
                bytes[i] = static_cast<char>(random());
            write_bytes(database, bytes);
        });
        const std::string error = cache_error([&] { (void)import_into(own, scratch / "a"); });
        INFO(error);
        CHECK(error.rfind("wrong kind", 0) == std::string::npos);
        if (!error.empty()) CHECK(content_of(own.database) == before);
        refused += error.empty() ? 0 : 1;
        CHECK(query_sql(own.database, "PRAGMA integrity_check") == Words{"ok"});
    }
    CHECK(refused > 0);
}

TEST_CASE("rows that are not sound stay out, with a warning, and the rest comes in") {
    const ScratchFolder scratch;
    const Machine own(scratch / "own");
    const Machine other(scratch / "other");
    {
        Database database(other.database, OpenMode::read_write);
        for (int i = 0; i < 6; ++i) {
            Trial trial = sample_trial(sample_problem(1 + i), i, 1.0 + i);
            database.record(sample_gpu(), trial, sample_binary(i));
        }
        DeviceInfo second = sample_gpu();
        second.name = "Second GPU";
        database.record(second, sample_trial(sample_problem(1), 1, 1.0), "");
    }
    export_from(other, scratch / "a");
    tamper(scratch / "a",
           "UPDATE trial SET config = '{\"x; system\": 1}' WHERE id = 1;"
           "UPDATE trial SET plan = 'nonsense' WHERE id = 2;"
           "UPDATE binary SET compressed = x'0011' WHERE key = (SELECT binary_key FROM trial WHERE id = 3);"
           "UPDATE problem SET key = 'no key' WHERE id = (SELECT problem FROM trial WHERE id = 4);"
           "UPDATE problem SET stride_w = 99 WHERE id = (SELECT problem FROM trial WHERE id = 5);"
           "UPDATE device SET multiprocessors = 7 WHERE name = 'Second GPU'");
    const auto warnings = import_into(own, scratch / "a");
    CHECK(warnings.size() == 6);
    CHECK(query_sql(own.database, "SELECT batch FROM problem JOIN trial ON problem.id = trial.problem ORDER BY 1") ==
          Words{"3", "5", "6"});
    // Of the three trials that came in one names the binary that was damaged.
    CHECK(query_sql(own.database, "SELECT count(*) FROM binary") == Words{"2"});
    CHECK(query_sql(own.database, "SELECT count(*) FROM device") == Words{"1"});
    CHECK(query_sql(own.database, "SELECT count(*) FROM problem WHERE stride_w = 99") == Words{"0"});
}

TEST_CASE("neither host code nor a name that leaves the folder comes out of an archive") {
    const ScratchFolder scratch;
    const Machine own(scratch / "own");
    const Machine other(scratch / "other");
    Database(other.database, OpenMode::read_write);
    const CodeStore store(other.code);
    for (const char* const key : {"a", "b", "c", "d"})
        store.put(key, "cubin", std::string("code ") + key);
    export_from(other, scratch / "a");
    tamper(scratch / "a",
           "UPDATE compiled_code SET extension = 'so' WHERE key = 'a';"
           "UPDATE compiled_code SET key = '../escaped' WHERE key = 'b';"
           "UPDATE compiled_code SET compressed = x'00' WHERE key = 'c'");
    const auto warnings = import_into(own, scratch / "a");
    CHECK(warnings.size() == 3);
    CHECK(names_in(own.code) == Words{"d.cubin"});
    CHECK(names_in(scratch / "own") == Words{"code"});
}

TEST_CASE("an entry that is there is never replaced") {
    const ScratchFolder scratch;
    const Machine own(scratch / "own");
    const Machine other(scratch / "other");
    Database(other.database, OpenMode::read_write);
    CodeStore(other.code).put("a", "cubin", "theirs");
    CodeStore(own.code).put("a", "cubin", "mine");
    export_from(other, scratch / "a");
    (void)import_into(own, scratch / "a");
    CHECK(CodeStore(own.code).get("a", "cubin") == "mine");
}
