// Databases that go bad while `tconv tune` works: it goes on in memory and says at its end what was not stored.

#include <sys/mount.h>
#include <sys/resource.h>

#include <sched.h>
#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "cache/sqlite.hpp"
#include "device/emulator/emulator.hpp"
#include "tests/cache/scratch.hpp"
#include "tests/catch.hpp"
#include "tests/faults/session.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;
using namespace tconv::tests;
namespace fs = std::filesystem;

namespace {

constexpr int k_trials = 16;

/// A session in whose middle `fault` happens. Compiled code is there beforehand, so that only the fault is in its way.
TuneRun tune_with(const test::ScratchFolder& folder, const fs::path& path, const std::function<void()>& fault) {
    bool happened = false;
    TuneRun run =
        tune(folder.path(), path, k_trials, [&](pid_t command) { happened = while_tuning(command, path, 2, fault); });
    CHECK(happened);
    return run;
}

void check_lost_some(const TuneRun& run, const std::string& reason) {
    check_won(run);
    INFO(run.warnings());
    CHECK(run.measured() == k_trials);
    CHECK(holds(run.warnings(), " of " + std::to_string(k_trials) + " trials could not be stored"));
    CHECK(holds(run.warnings(), reason));
}

}  // namespace

TEST_CASE("a database held for a moment by another process costs no trial and no word") {
    if (!host_compiler_status().available) return;
    const test::ScratchFolder folder;
    const fs::path path = folder / "t.db";
    const TuneRun run = tune(folder.path(), path, k_trials, [&](pid_t command) {
        (void)while_tuning(command, path, 1, [] {});
        sqlite::Connection other(path, sqlite::Access::read_write);
        const sqlite::Transaction held(other);
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    });
    check_won(run);
    CHECK(run.warnings().empty());
    CHECK(rows_in(path) == run.measured());
}

TEST_CASE("a database held for long by another process costs its trials, not the session") {
    if (!host_compiler_status().available) return;
    const test::ScratchFolder folder;
    const fs::path path = folder / "t.db";
    std::unique_ptr<sqlite::Connection> other;
    std::unique_ptr<sqlite::Transaction> held;
    const TuneRun run = tune(folder.path(), path, k_trials, [&](pid_t command) {
        (void)while_tuning(command, path, 1, [] {});
        other = std::make_unique<sqlite::Connection>(path, sqlite::Access::read_write);
        held = std::make_unique<sqlite::Transaction>(*other);
    });
    check_lost_some(run, "has been held by another process for more than 10 s");
    held.reset();
    CHECK(rows_in(path) < k_trials);
    check_sound(path, folder.path());
    const TuneRun again = tune(folder.path(), path, k_trials);
    check_won(again);
    CHECK(rows_in(path) == k_trials);
}

TEST_CASE("a file that may not grow costs trials, not the session") {
    if (!host_compiler_status().available) return;
    const test::ScratchFolder folder;
    (void)tune(folder.path(), folder / "warm.db", k_trials);
    const fs::path path = folder / "t.db";
    bool happened = false;
    const TuneRun run = tune(folder.path(), path, k_trials, [&](pid_t command) {
        happened = while_tuning(command, path, 2, [&] {
            const rlimit limit{fs::file_size(path.string() + "-wal"), RLIM_INFINITY};
            CHECK(::prlimit(command, RLIMIT_FSIZE, &limit, nullptr) == 0);
        });
    });
    CHECK(happened);
    check_lost_some(run, "cannot");
    check_sound(path, folder.path());
}

TEST_CASE("a full disk costs trials, not the session") {
    if (!host_compiler_status().available) return;
    const test::ScratchFolder folder;
    (void)tune(folder.path(), folder / "warm.db", k_trials);
    fs::create_directory(folder / "small");
    const fs::path path = folder / "small/t.db";
    const int code = test::run_in_child([&] {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("none", (folder / "small").c_str(), "tmpfs", 0, "size=400k") != 0) {
            return test::k_skipped;
        }
        const TuneRun run = tune(folder.path(), path, k_trials);
        write_file(folder / "seen.json", run.process.out);
        write_file(folder / "seen.err", run.process.err);
        return test::query_sql(path, "PRAGMA integrity_check").at(0) == "ok" ? run.process.exit_code : 100;
    });
    if (code == test::k_skipped) {
        WARN("skipped: this machine does not allow to mount a small file system");
        return;
    }
    TuneRun run;
    run.process = {code, read_file(folder / "seen.json"), read_file(folder / "seen.err")};
    run.result = nlohmann::json::parse(run.process.out)["results"][0];
    check_lost_some(run, "cannot grow: the disk is full");
}

TEST_CASE("a database that is moved, removed or replaced costs trials, not the session") {
    if (!host_compiler_status().available) return;
    const test::ScratchFolder folder;
    const fs::path path = folder / "data/t.db";
    const std::string reason = "was moved or removed while it was in use";
    SECTION("its folder is renamed") {
        check_lost_some(tune_with(folder, path, [&] { fs::rename(folder / "data", folder / "aside"); }), reason);
        CHECK_FALSE(fs::exists(folder / "data"));
        check_sound(folder / "aside/t.db", folder.path());
        CHECK(rows_in(folder / "aside/t.db") >= 2);
    }
    SECTION("its folder is removed") {
        check_lost_some(tune_with(folder, path, [&] { fs::remove_all(folder / "data"); }), reason);
        CHECK_FALSE(fs::exists(folder / "data"));
    }
    SECTION("a folder takes its place") {
        check_lost_some(tune_with(folder, path,
                                  [&] {
                                      fs::remove(path);
                                      fs::create_directory(path);
                                  }),
                        reason);
    }
    SECTION("another file takes its place") {
        check_lost_some(tune_with(folder, path,
                                  [&] {
                                      fs::remove(path);
                                      write_file(path, "something else");
                                  }),
                        reason);
        CHECK(read_file(path) == "something else");
    }
}

TEST_CASE("bytes that change under a session cost at most trials") {
    if (!host_compiler_status().available) return;
    const int count = test::rounds(9);
    for (int seed = 0; seed < count; ++seed) {
        INFO("seed " << seed);
        const test::ScratchFolder folder;
        const fs::path path = folder / "t.db";
        const TuneRun run = tune_with(folder, path, [&] {
            std::mt19937 random(static_cast<unsigned>(seed));
            const std::string file = path.string() + (seed % 3 == 0 ? "-wal" : "");
            std::string bytes = read_file(file);
            for (auto changes = 1 + random() % 200; changes > 0; --changes)
                bytes[random() % bytes.size()] = static_cast<char>(random());
            if (seed % 3 == 2) bytes.resize(bytes.size() / 2);
            write_file(file, bytes);
        });
        check_won(run);
        CHECK(run.measured() == k_trials);
    }
}
