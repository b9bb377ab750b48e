// Many processes at one database: no trial is lost, nobody fails, nobody hears of locks.

#include <atomic>
#include <mutex>
#include <thread>

#include "core/problem.hpp"
#include "device/emulator/emulator.hpp"
#include "tests/catch.hpp"
#include "tests/faults/session.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;
using namespace tconv::tests;
namespace fs = std::filesystem;

namespace {

constexpr int k_tuners = 8;
constexpr int k_readers = 8;

std::string key_of_tiny_problem(int number) {
    Problem problem;
    problem.spatial_axes = 1;
    problem.in_channels = 2;
    problem.out_channels = 3;
    problem.input = {1, 1, 6 + number};
    problem.kernel = {1, 1, 3};
    problem.stride = {1, 1, 2};
    return key(problem);
}

/// What threads saw; Catch2's checks belong to one thread.
class Findings {
public:
    void expect(bool good, const Finished& process) {
        if (good) return;
        const std::lock_guard lock(mutex_);
        text_ += process.out + process.err + "(exit code " + std::to_string(process.exit_code) + ")\n";
    }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    std::mutex mutex_;
    std::string text_;
};

}  // namespace

TEST_CASE("eight processes that tune and eight that read share a database") {
    if (!host_compiler_status().available) return;
    const test::ScratchFolder folder;
    const fs::path path = folder / "t.db";
    check_won(tune(folder.path(), path, 1, {}, k_tuners));  // so that readers find a file
    const int count = test::rounds(2);
    std::atomic<std::int64_t> measured = 1;
    std::atomic<int> tuning = k_tuners;
    Findings findings;
    std::vector<std::thread> threads;
    for (int number = 0; number < k_tuners; ++number) {
        threads.emplace_back([&, number] {
            const fs::path home = folder / ("tuner" + std::to_string(number));
            fs::create_directory(home);
            for (int round = 1; round <= count; ++round) {
                const TuneRun run = tune(home, path, 3 * round, {}, number);
                const bool good = run.process.exit_code == 0 && run.result.is_object() && run.warnings().empty() &&
                                  run.result["winner"].is_object() && run.reused() == 3 * (round - 1) &&
                                  !holds(run.process.err, "lock");
                findings.expect(good, run.process);
                measured += run.result.is_object() ? run.measured() : 0;
            }
            --tuning;
        });
    }
    for (int number = 0; number < k_readers; ++number) {
        threads.emplace_back([&, number] {
            const fs::path home = folder / ("reader" + std::to_string(number));
            fs::create_directory(home);
            bool shown = false;
            while (tuning > 0) {
                const Finished list = run_tconv({"cache", "list", "--database", path.string()}, home);
                findings.expect(list.exit_code == 0 && list.err.empty(), list);
                const Finished show =
                    run_tconv({"cache", "show", key_of_tiny_problem(number), "--database", path.string()}, home);
                const bool not_yet = !shown && holds(show.err, "must be a name or a key of");
                findings.expect(not_yet || (show.exit_code == 0 && show.err.empty()), show);
                shown |= show.exit_code == 0;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(findings.text().empty());
    CHECK(measured == 1 + k_tuners * 3 * count);
    CHECK(rows_in(path) == measured);
    check_sound(path, folder.path());
}
