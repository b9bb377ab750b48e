#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sched.h>
#include <csignal>
#include <cstdio>
#include <set>
#include <thread>

#include "cache/database.hpp"
#include "core/error.hpp"
#include "samples.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;

namespace {

const DeviceInfo k_gpu = sample_gpu();

void record(Database& database, int number, std::int64_t batch = 2) {
    database.record(k_gpu, sample_trial(sample_problem(batch), number, 1.0 + number), sample_binary(number));
}

std::set<std::int64_t> numbers_in(const Database& database, std::int64_t batch = 2) {
    std::set<std::int64_t> numbers;
    for (const Trial& trial : database.trials(sample_problem(batch), device_key(k_gpu)))
        numbers.insert(trial.config.at("number"));
    return numbers;
}

void check_sound(const std::filesystem::path& path) {
    CHECK(query_sql(path, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
    CHECK(query_sql(path, "PRAGMA foreign_key_check").empty());
}

}  // namespace

TEST_CASE("processes that write at once lose no trial, and readers see no error meanwhile") {
    const ScratchFolder scratch;
    const std::filesystem::path path = scratch / "t.db";
    constexpr int writers = 8, readers = 4, each = 25;
    { const Database made(path, OpenMode::read_write); }
    const auto codes = run_together(writers + readers, [&](int process) {
        if (process < writers) {
            Database database(path, OpenMode::read_write);
            for (int i = 0; i < each; ++i)
                record(database, process * each + i);
            return 0;
        }
        std::size_t seen = 0;
        for (int i = 0; i < each; ++i) {
            Database database(path, OpenMode::read_only);
            const std::size_t now = numbers_in(database).size();
            if (now < seen || !database.take_warnings().empty()) return 1;
            const auto winner = database.winner(sample_problem(), k_gpu, 1);
            if (winner && winner->binary != sample_binary(static_cast<int>(winner->trial.config.at("number"))))
                return 2;
            seen = now;
        }
        return 0;
    });
    for (const int code : codes)
        CHECK(code == 0);
    CHECK(numbers_in(Database(path, OpenMode::read_only)).size() == writers * each);
    check_sound(path);
}

TEST_CASE("threads with a connection each lose no trial") {
    const ScratchFolder scratch;
    const std::filesystem::path path = scratch / "t.db";
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            Database database(path, OpenMode::read_write);
            for (int i = 0; i < 20; ++i)
                record(database, thread * 20 + i);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(numbers_in(Database(path, OpenMode::read_only)).size() == 80);
}

TEST_CASE("processes that all open an absent file make it once, and each can store its trial") {
    for (int round = 0; round < 6; ++round) {
        const ScratchFolder scratch;
        const std::filesystem::path path = scratch / "made/by/us/t.db";
        const auto codes = run_together(12, [&](int process) {
            Database database(path, OpenMode::read_write);
            record(database, process);
            return 0;
        });
        for (const int code : codes)
            CHECK(code == 0);
        CHECK(numbers_in(Database(path, OpenMode::read_only)).size() == 12);
        check_sound(path);
    }
}

TEST_CASE("a process killed in the middle loses no trial that it had stored") {
    const ScratchFolder scratch;
    const std::filesystem::path path = scratch / "t.db";
    for (const int stop : {1, 7, 40}) {
        std::filesystem::remove_all(path);
        int channel[2];
        REQUIRE(::pipe(channel) == 0);
        const pid_t child = start_child([&] {
            Database database(path, OpenMode::read_write);
            for (int number = 0;; ++number) {
                record(database, number);
                if (::write(channel[1], &number, sizeof number) != sizeof number) return 1;
            }
        });
        int stored = -1;
        while (stored < stop)
            REQUIRE(::read(channel[0], &stored, sizeof stored) == sizeof stored);
        ::kill(child, SIGKILL);
        CHECK(wait_for(child) == -SIGKILL);
        ::close(channel[1]);
        for (int number = 0; ::read(channel[0], &number, sizeof number) == sizeof number;)
            stored = number;
        ::close(channel[0]);
        Database database(path, OpenMode::read_write);
        const auto numbers = numbers_in(database);
        for (int number = 0; number <= stored; ++number)
            CHECK(numbers.count(number) == 1);
        CHECK(numbers.size() <= static_cast<std::size_t>(stored) + 2);
        record(database, 1000);
        check_sound(path);
    }
}

TEST_CASE("a full disk is an error that says so, and what was stored stays") {
    const ScratchFolder scratch;
    const std::filesystem::path folder = scratch / "small";
    std::filesystem::create_directory(folder);
    const int code = run_in_child([&] {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("none", folder.c_str(), "tmpfs", 0, "size=600k") != 0) {
            return k_skipped;
        }
        std::string error;
        int stored = 0;
        {
            Database database(folder / "t.db", OpenMode::read_write);
            while (error.empty() && stored < 10000) {
                error = cache_error([&] { record(database, stored); });
                if (error.empty()) ++stored;
            }
            if (error.find("the disk is full") == std::string::npos || error.find("t.db") == std::string::npos) {
                std::fprintf(stderr, "%s\n", error.c_str());
                return 1;
            }
            if (numbers_in(database).size() != static_cast<std::size_t>(stored)) return 2;
        }
        const Database again(folder / "t.db", OpenMode::read_only);
        return stored > 0 && numbers_in(again).size() == static_cast<std::size_t>(stored) ? 0 : 3;
    });
    if (code == k_skipped) WARN("skipped: this machine does not allow to mount a small file system");
    CHECK((code == 0 || code == k_skipped));
}
