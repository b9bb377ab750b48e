// Workers and sessions that are killed at the worst moment: in the middle of a candidate that never ends.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ios>
#include <map>
#include <thread>

#include "device/emulator/emulator.hpp"
#include "tests/catch.hpp"
#include "tests/faults/planted_session.hpp"

using namespace tconv::tests;

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Waits until `holds` says so; false after `patience`.
bool wait_until(const std::function<bool()>& holds, std::chrono::milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

/// A file of a process; empty where the process is gone.
std::string process_file(pid_t process, const std::string& name) {
    try {
        return read_file("/proc/" + std::to_string(process) + "/" + name);
    } catch (const std::ios_base::failure&) {  // gone between opening and reading
        return "";
    }
}

/// All processes that descend from `parent`, with their command lines.
std::map<pid_t, std::string> descendants(pid_t parent) {
    std::map<pid_t, pid_t> parents;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const std::string status = process_file(std::stoi(name), "stat");
        const std::size_t after_name = status.rfind(')');
        if (after_name == std::string::npos) continue;
        parents[std::stoi(name)] = std::stoi(status.substr(after_name + 4));
    }
    std::map<pid_t, std::string> found;
    for (const auto& [process, direct] : parents) {
        for (pid_t above = direct; above > 1; above = parents.count(above) != 0 ? parents[above] : 0) {
            if (above != parent) continue;
            found[process] = process_file(process, "cmdline");
            break;
        }
    }
    return found;
}

/// Of those, the one that runs candidates; 0 where there is none.
pid_t evaluating_worker(pid_t command) {
    for (const auto& [process, words] : descendants(command)) {
        if (words.find(std::string("worker\0--device", 15)) != std::string::npos) return process;
    }
    return 0;
}

bool is_there(pid_t process) {
    const std::string status = process_file(process, "stat");
    const std::size_t after_name = status.rfind(')');
    return after_name != std::string::npos && status.at(after_name + 2) != 'Z';
}

/// Waits until the endless kernel runs; false where the command ends without.
bool is_marked(const PlantedSessions& sessions, pid_t command) {
    const auto marked = [&] { return fs::exists(sessions.mark()); };
    return wait_until([&] { return marked() || !is_there(command); }, 60s) && marked();
}

void check_all_gone(const std::map<pid_t, std::string>& processes) {
    const auto gone = [&] {
        return std::none_of(processes.begin(), processes.end(), [](const auto& one) { return is_there(one.first); });
    };
    CHECK(wait_until(gone, 2s));
    for (const auto& [process, words] : processes) {
        INFO(words);
        CHECK_FALSE(is_there(process));
    }
}

}  // namespace

TEST_CASE("a worker killed in the middle of a candidate costs that candidate alone") {
    if (!tconv::host_compiler_status().available) return;
    const PlantedSessions sessions;
    sessions.offer({0, planted_fault("endless_loop").number}, "repeat > 0");
    int kills = 0;
    const PlantedSessions::Run run =
        sessions.tune({{"--run-limit", "5m"}, {"--validation-limit", "5m"}}, [&](pid_t command) {
            for (; kills < 3 && is_marked(sessions, command); ++kills) {
                fs::remove(sessions.mark());
                const pid_t worker = evaluating_worker(command);
                REQUIRE(worker != 0);
                ::kill(worker, SIGKILL);
                if (kills == 2) continue;
                // Its successor while it starts, which is no candidate's fault.
                pid_t next = 0;
                const auto is_next = [&] { return (next = evaluating_worker(command)) != 0 && next != worker; };
                if (wait_until([&] { return is_next() || !is_there(command); }, 60s) && next != 0 && next != worker)
                    ::kill(next, SIGKILL);
            }
        });
    CHECK(kills == 3);
    check_ended(run, 0);
    CHECK(run.result["trials_measured"] == 6);
    REQUIRE(run.result["winner"].is_object());
    CHECK(run.result["winner"]["config"]["fault"] == 0);
    CHECK(run.result["winner"]["config"]["repeat"] == 1);
    CHECK(run.result["failures"] == nlohmann::json{{"crashed", 3}});
}

TEST_CASE("a session killed while a kernel or a compiler never ends leaves no process behind") {
    if (!tconv::host_compiler_status().available) return;
    const PlantedSessions sessions;
    sessions.offer({planted_fault("endless_loop").number, planted_fault("compiles_for_ever").number});
    std::map<pid_t, std::string> processes;
    const auto compiler_runs = [&](pid_t command) {
        processes = descendants(command);
        return std::any_of(processes.begin(), processes.end(), [](const auto& one) {
            return one.second.find("cc1plus") != std::string::npos || one.second.find("-cc1") != std::string::npos;
        });
    };
    const PlantedSessions::Run run = sessions.tune(
        {{"--run-limit", "5m"}, {"--validation-limit", "5m"}, {"--compile-limit", "5m"}}, [&](pid_t command) {
            CHECK(is_marked(sessions, command));
            CHECK(wait_until([&] { return compiler_runs(command) || !is_there(command); }, 60s));
            ::kill(command, SIGKILL);
        });
    CHECK(run.process.exit_code == 128 + SIGKILL);
    CHECK(processes.size() >= 4);  // two workers, a compiler and its pass
    check_all_gone(processes);
    CHECK(fs::is_empty(sessions.temporary_files()));
}

TEST_CASE("a session that is interrupted in the middle of a candidate ends cleanly") {
    if (!tconv::host_compiler_status().available) return;
    for (const int times : {1, 2}) {
        INFO(times << " interrupts");
        const PlantedSessions sessions;
        sessions.offer({planted_fault("endless_loop").number});
        std::map<pid_t, std::string> processes;
        // Once: the candidate comes to its own limit. Twice: nothing is waited for.
        const PlantedSessions::Run run = sessions.tune(
            {{"--run-limit", times == 1 ? "2s" : "5m"}, {"--validation-limit", "5m"}}, [&](pid_t command) {
                CHECK(is_marked(sessions, command));
                processes = descendants(command);
                for (int i = 0; i < times; ++i) {
                    ::kill(command, SIGINT);
                    std::this_thread::sleep_for(300ms);
                }
            });
        CHECK(run.process.exit_code == 130);
        CHECK(run.process.err.find("stopping after this trial") != std::string::npos);
        if (times == 1) {
            REQUIRE(run.result.is_object());
            CHECK(run.result["failures"] == nlohmann::json{{"timeout", 1}});
        }
        CHECK(processes.size() >= 2);
        check_all_gone(processes);
    }
}
