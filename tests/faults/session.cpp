#include "tests/faults/session.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/cache/scratch.hpp"
#include "tests/catch.hpp"

namespace tconv::tests {

std::string TuneRun::warnings() const {
    std::string all;
    for (const auto& warning : result.value("warnings", nlohmann::json::array()))
        all += warning.get<std::string>() + "\n";
    return all;
}

std::vector<std::string> tiny_problem(int number) {
    return {"--input", "1x2x" + std::to_string(6 + number), "--weight", "2x3x3", "--stride", "2"};
}

TuneRun tune(const std::filesystem::path& folder, const std::filesystem::path& database, std::int64_t trials,
             const std::function<void(pid_t)>& meanwhile, int number) {
    std::vector<std::string> words = tiny_problem(number);
    words.insert(words.begin(), "tune");
    words.insert(words.end(), {"--device", "emulator", "--json", "--time-limit", "10m", "--trials",
                               std::to_string(trials), "--database", database.string()});
    TuneRun run;
    run.process =
        run_tconv(words, folder, {"TCONV_CACHE=" TCONV_TEST_CACHE, "TCONV_SEARCH_SPACES=" TCONV_ONE_FAMILY}, meanwhile);
    const auto document = nlohmann::json::parse(run.process.out, nullptr, false);
    if (document.is_object() && document["results"].size() == 1) run.result = document["results"][0];
    return run;
}

bool while_tuning(pid_t command, const std::filesystem::path& database, std::int64_t trials,
                  const std::function<void()>& fault) {
    while (true) {
        siginfo_t ended{};
        if (::waitid(P_PID, static_cast<id_t>(command), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            ended.si_pid == command)
            return false;
        std::int64_t rows = 0;
        try {
            if (std::filesystem::exists(database)) rows = rows_in(database);
        } catch (const std::runtime_error&) {  // it is being made
        }
        if (rows >= trials) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ::kill(command, SIGSTOP);
    siginfo_t stopped{};
    ::waitid(P_PID, static_cast<id_t>(command), &stopped, WSTOPPED | WEXITED | WNOWAIT);
    if (stopped.si_code != CLD_STOPPED) return false;
    fault();
    ::kill(command, SIGCONT);
    return true;
}

void check_won(const TuneRun& run) {
    INFO(run.process.err << run.warnings());
    CHECK(run.process.exit_code == 0);
    CHECK_FALSE(holds(run.process.err, "locked"));
    CHECK_FALSE(holds(run.warnings(), "locked"));
    REQUIRE(run.result.is_object());
    REQUIRE(run.result["winner"].is_object());
    CHECK(run.result["winner"]["outcome"]["kind"] == "valid");
    CHECK(run.result["winner"]["outcome"]["error"]["relative"] <= 1e-4);
}

void check_refused(const TuneRun& run, const std::string& part) {
    INFO(run.process.err);
    CHECK(run.process.exit_code == 2);
    CHECK(run.process.out.empty());
    CHECK(std::count(run.process.err.begin(), run.process.err.end(), '\n') == 1);
    CHECK(holds(run.process.err, part));
    CHECK_FALSE(holds(run.process.err, "locked"));
    // Whatever the file holds, what a terminal gets is text.
    CHECK(std::all_of(run.process.err.begin(), run.process.err.end(),
                      [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
}

std::int64_t rows_in(const std::filesystem::path& database) {
    return std::stoll(test::query_sql(database, "SELECT count(*) FROM trial").at(0));
}

void check_sound(const std::filesystem::path& database, const std::filesystem::path& folder) {
    CHECK(test::query_sql(database, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
    const Finished verified = run_tconv({"cache", "verify", "--database", database.string()}, folder);
    INFO(verified.out << verified.err);
    CHECK(verified.exit_code == 0);
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace tconv::tests
