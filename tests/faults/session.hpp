#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/process.hpp"

namespace tconv::tests {

/// One run of `tconv tune --json` on the emulator.
struct TuneRun {
    Finished process;
    nlohmann::json result;  ///< of the one problem; null where the command printed none

    [[nodiscard]] std::int64_t measured() const { return result.value("trials_measured", std::int64_t{0}); }
    [[nodiscard]] std::int64_t reused() const { return result.value("trials_reused", std::int64_t{0}); }
    /// All warnings of the result, one a line.
    [[nodiscard]] std::string warnings() const;
};

/// A tiny problem; each `number` is another one.
[[nodiscard]] std::vector<std::string> tiny_problem(int number = 0);

/// Tunes it with `folder` as the home. Compiled code is shared with other runs.
[[nodiscard]] TuneRun tune(const std::filesystem::path& folder, const std::filesystem::path& database,
                           std::int64_t trials, const std::function<void(pid_t)>& meanwhile = {}, int number = 0);

/// Stops the command once it has stored `trials` or more, runs `fault`, and lets it go on. False where it ended before.
bool while_tuning(pid_t command, const std::filesystem::path& database, std::int64_t trials,
                  const std::function<void()>& fault);

/// Catch2 checks: exit code 0, a winner that was found right, and nothing on stderr that speaks of locks.
void check_won(const TuneRun& run);

/// Catch2 checks: exit code 2 and one line on stderr that holds `part`.
void check_refused(const TuneRun& run, const std::string& part);

/// Trials in the file.
[[nodiscard]] std::int64_t rows_in(const std::filesystem::path& database);

/// Catch2 checks of the file as SQLite sees it, and as `tconv cache verify` does.
void check_sound(const std::filesystem::path& database, const std::filesystem::path& folder);

[[nodiscard]] bool holds(const std::string& text, const std::string& part);

}  // namespace tconv::tests
