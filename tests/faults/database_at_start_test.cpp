// Databases that are bad before `tconv tune` begins: it says so in one line, or its winner is right.

#include <sys/stat.h>

#include <memory>
#include <random>

#include "cache/sqlite.hpp"
#include "core/error.hpp"
#include "device/emulator/emulator.hpp"
#include "tests/cache/scratch.hpp"
#include "tests/catch.hpp"
#include "tests/faults/session.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;
using namespace tconv::tests;
namespace fs = std::filesystem;

namespace {

constexpr int k_trials = 4;

void remove_database(const fs::path& path) {
    for (const char* const suffix : {"", "-wal", "-shm", "-journal"})
        fs::remove(path.string() + suffix);
}

/// A refusal, after which the file is as it was.
void check_refused_untouched(const test::ScratchFolder& folder, const fs::path& path, const std::string& part) {
    const std::string before = read_file(path);
    check_refused(tune(folder.path(), path, k_trials), part);
    CHECK(read_file(path) == before);
}

}  // namespace

TEST_CASE("files that are no database of this program are refused and left alone") {
    const test::ScratchFolder folder;
    const fs::path path = folder / "t.db";
    test::write_bytes(path, std::string(50000, 'x'));
    check_refused_untouched(folder, path, "is not an SQLite database");
    remove_database(path);
    test::run_sql(path, "CREATE TABLE theirs (x)");
    check_refused_untouched(folder, path, "belongs to another program");
    remove_database(path);
    test::run_sql(path, "PRAGMA application_id = 0x74636e76; PRAGMA user_version = 99; CREATE TABLE t (x)");
    check_refused_untouched(folder, path, "was written by a newer tconv: it has schema version 99");
}

TEST_CASE("places that cannot hold a database are refused") {
    const test::ScratchFolder folder;
    fs::create_directory(folder / "folder.db");
    check_refused(tune(folder.path(), folder / "folder.db", k_trials), "is a folder and must be a file");
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    check_refused(tune(folder.path(), folder / "pipe", k_trials), "is a device or a pipe");
    test::write_bytes(folder / "file", "x");
    check_refused(tune(folder.path(), folder / "file/t.db", k_trials), "file");
}

TEST_CASE("a file or a folder that must not be written is refused") {
    const test::ScratchFolder folder;
    const fs::path path = folder / "data/t.db";
    fs::create_directory(folder / "data");
    fs::create_directory(folder / "home");
    fs::permissions(folder.path(), fs::perms::all);
    fs::permissions(folder / "home", fs::perms::all);
    test::run_sql(path, "CREATE TABLE t (x)");
    // Checks in the child would not reach the report, so it hands over what it saw.
    const auto refusal = [&] {
        const fs::path seen = folder / "home/seen.txt";
        fs::remove(seen);
        const int code = test::run_unprivileged([&] {
            const TuneRun run = tune(folder / "home", path, k_trials);
            write_file(seen, std::to_string(run.process.exit_code) + " " + run.process.out + run.process.err);
            return 0;
        });
        return code == test::k_skipped ? std::string() : read_file(seen);
    };
    fs::permissions(folder / "data", fs::perms::all);
    fs::permissions(path, fs::perms::owner_read | fs::perms::others_read);
    const std::string file = refusal();
    if (file.empty()) {
        WARN("skipped: this machine does not allow to change the user");
        return;
    }
    CHECK(holds(file, "2 tconv: the database '" + path.string() + "' cannot be written: the file is read-only"));
    fs::permissions(path, fs::perms::all);
    fs::permissions(folder / "data",
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    CHECK(holds(refusal(), "2 tconv: the database '" + path.string() + "' cannot be written: its folder refuses"));
}

TEST_CASE("a database that another process keeps for itself alone is refused after a while") {
    const test::ScratchFolder folder;
    const fs::path path = folder / "t.db";
    sqlite::Connection other(path, sqlite::Access::read_write);
    other.execute("PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE t (x); BEGIN EXCLUSIVE");
    check_refused(tune(folder.path(), path, k_trials), "has been held by another process for more than 10 s");
}

TEST_CASE("whatever bytes of a database are changed, tune is refused in one line or its winner is right") {
    if (!host_compiler_status().available) return;
    const test::ScratchFolder folder;
    const fs::path good = folder / "good.db";
    const fs::path path = folder / "t.db";
    check_won(tune(folder.path(), good, k_trials));
    test::run_sql(good, "PRAGMA journal_mode = DELETE");
    const std::string bytes = read_file(good);
    constexpr std::size_t page = 4096;
    const int count = test::rounds(24);
    for (int seed = 0; seed < count; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(static_cast<unsigned>(seed));
        std::string changed = bytes;
        for (auto changes = 1 + random() % 32; changes > 0; --changes) {
            // A third hits the file's header, a third the heads of pages, the rest anything.
            std::size_t position = random() % changed.size();
            if (seed % 3 == 0) position = random() % 100;
            if (seed % 3 == 1) position = position / page * page + random() % 120;
            changed[position] = static_cast<char>(random());
        }
        test::write_bytes(path, changed);
        const TuneRun run = tune(folder.path(), path, k_trials + 1);
        if (run.process.exit_code == 2) {
            check_refused(run, path.string());
        } else {
            check_won(run);
            // What was passed over was measured again; and where a family has lost its trials, or a trial how far its
            // session searched, those that are left stand for fewer.
            if (run.result.is_object()) CHECK(run.measured() + run.reused() >= k_trials + 1);
        }
        remove_database(path);
    }
}
