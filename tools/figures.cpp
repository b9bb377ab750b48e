// Measures the figures that users are promised of everything besides the kernels, and fails where one is missed:
//   tconv_figures PATH/TO/tconv
// It works in a temporary folder and takes about half a minute, most of it for storing 100,000 trials.
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cache/database.hpp"
#include "core/error.hpp"
#include "device/emulator/emulator.hpp"
#include "kernel_sources/sources.hpp"
#include "runtime/runtime.hpp"
#include "tools/targets.hpp"
#include "tuner/contest.hpp"
#include "tuner/laboratory.hpp"
#include "tuner/local_evaluator.hpp"
#include "tuner/search_space.hpp"
#include "tuner/workers/worker_evaluator.hpp"

extern char** environ;

namespace {

using namespace tconv;
namespace fs = std::filesystem;

/// Median of `count` runs in milliseconds.
double median_milliseconds(int count, const std::function<void()>& work) {
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(times.begin(), times.begin() + count / 2, times.end());
    return times[static_cast<std::size_t>(count / 2)];
}

void run_command(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    pid_t child = 0;
    int status = 1;
    const bool started = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0 &&
                         waitpid(child, &status, 0) == child;
    posix_spawn_file_actions_destroy(&actions);
    if (!started || status != 0) throw Error(ErrorKind::unavailable, fmt::format("{} did not run", words[0]));
}

Problem layer(std::int64_t input) {
    Problem p;
    p.batch = 2;
    p.in_channels = 8;
    p.out_channels = 6;
    p.input = {1, input, input};
    p.kernel = {1, 3, 3};
    return p;
}

/// A family that takes the layers.
const SearchSpace& family_for_layers(const std::vector<SearchSpace>& spaces, const DeviceInfo& device) {
    const auto found = std::find_if(spaces.begin(), spaces.end(), [&](const SearchSpace& space) {
        return !space.defaults(layer(4), device).empty();
    });
    if (found == spaces.end()) throw Error(ErrorKind::not_found, "no family takes the layers");
    return *found;
}

/// 1,000 trials of each of 100 problems; the first of each has the kernel that `fetch` will find.
void fill(Database& database, const DeviceInfo& device) {
    const std::vector<SearchSpace> spaces = load_search_spaces();
    const SearchSpace& space = family_for_layers(spaces, device);
    Trial trial;
    trial.template_name = space.name();
    trial.template_hash = template_hash(space.template_file());
    trial.driver_version = device.driver_version;
    trial.outcome.timing.samples = {1, 1, 1};
    for (std::int64_t input = 4; input < 104; ++input) {
        trial.problem = layer(input);
        const Config first = space.defaults(trial.problem, device).front();
        trial.outcome.plan = space.plan(trial.problem, device, first);
        for (std::int64_t number = 0; number < 1000; ++number) {
            trial.config = first;
            if (number > 0) trial.config["variant"] = number;
            trial.outcome.timing.median = 1.0 + static_cast<double>(number);
            (void)database.record(device, trial, {});
        }
    }
}

class Figures {
public:
    void hold(const char* what, double milliseconds, double limit) {
        const bool held = milliseconds <= limit;
        failed_ |= !held;
        fmt::print("{:44} {:>10.4f} ms   limit {:>8.4f} ms   {}\n", what, milliseconds, limit,
                   held ? "held" : "MISSED");
    }
    [[nodiscard]] int exit_code() const { return failed_ ? 1 : 0; }

private:
    bool failed_ = false;
};

/// What it costs that candidates run in a process of their own: a trivial one measured there and here in turn, and a
/// killed worker until the next one has measured a candidate.
void hold_workers(Figures& figures, const std::string& command) {
    const auto device = make_emulator();
    const auto compiler = make_host_compiler();
    Laboratory laboratory(*device, *compiler);
    LocalEvaluator here(laboratory);
    WorkerEvaluator there({{command, "worker", "--device", "emulator"}, {command, "worker", "--compiler", "host"}}, {});
    const Problem problem = layer(4);
    const std::vector<SearchSpace> spaces = load_search_spaces();
    const SearchSpace& space = family_for_layers(spaces, here.device());
    const Config config = space.defaults(problem, here.device()).front();
    Candidate candidate{problem, space.name(), config, space.plan(problem, here.device(), config), 1e-4, 0};
    CompileResult compiled = here.builder().take(candidate);
    if (!compiled.ok) throw Error(ErrorKind::compile, compiled.log);
    const Compiled ready{std::move(candidate), std::move(compiled.code)};
    (void)here.prepare(problem, 1);
    (void)there.prepare(problem, 1);
    const auto measure_valid = [&](Evaluator& evaluator) {
        const Outcome outcome = evaluator.measure(ready).outcome;
        if (outcome.kind != OutcomeKind::valid) throw Error(ErrorKind::device, outcome.reason);
    };
    std::vector<double> differences;
    for (int i = 0; i < 101; ++i) {
        const double in_process = median_milliseconds(1, [&] { measure_valid(here); });
        differences.push_back(median_milliseconds(1, [&] { measure_valid(there); }) - in_process);
    }
    std::nth_element(differences.begin(), differences.begin() + 50, differences.end());
    figures.hold("a worker's part of a candidate", differences[50], 5);
    figures.hold("from a worker's kill to the next result",
                 median_milliseconds(5,
                                     [&] {
                                         ::kill(there.process_id(), SIGKILL);
                                         (void)there.measure(ready);
                                         measure_valid(there);
                                     }),
                 2000);
}

double processor_milliseconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

/// What the search costs a candidate on a described GPU: all families' proposals for layers of each kind.
void hold_proposals(Figures& figures) {
    constexpr int count = 20;  // candidates of a session
    const DeviceInfo device = find_target("NVIDIA H200").info;
    const std::vector<SearchSpace> spaces = load_search_spaces();
    std::vector<double> times;
    for (const char* layer : {"2d n8 ci256 co128 g1 i32x32 k4x4 s2x2 p1x1 op0x0 d1x1 nobias",
                              "3d n2 ci32 co32 g1 i32x32x32 k3x3x3 s1x1x1 p1x1x1 op0x0x0 d1x1x1 bias",
                              "1d n8 ci256 co128 g1 i2048 k16 s8 p4 op0 d1 bias",
                              "2d n16 ci64 co3 g1 i32x32 k4x4 s2x2 p1x1 op0x0 d1x1 nobias"}) {
        for (const auto& [type, tolerance] : {std::pair{"f32", 1e-4}, {"f32", 1e-2}, {"f16", 2e-3}}) {
            const Problem problem = parse_key(fmt::format("{} {} nchw", layer, type));
            const double start = processor_milliseconds();
            Contest contest(problem, device, spaces, 1, 200, tolerance);
            for (int i = 0; i < count; ++i) {
                const auto candidate = contest.next();
                if (!candidate) throw Error(ErrorKind::not_found, "a space is exhausted");
                contest.report(candidate->template_name, candidate->config, 1.0 + i % 7);
            }
            times.push_back((processor_milliseconds() - start) / count);
        }
    }
    std::sort(times.begin(), times.end());
    figures.hold("processor time of a proposal, median layer", times[times.size() / 2], 5);
    figures.hold("processor time of a proposal, worst layer", times.back(), 15);
}

int measure(const std::string& command, const fs::path& folder) {
    const std::string file = folder / "figures.db";
    RuntimeOptions options;
    options.device = "emulator";
    options.database = file;
    setenv("TCONV_CACHE", (folder / "cache").c_str(), 1);
    DeviceInfo device;
    device.name = "emulator";
    device.compute_major = 9;
    device.multiprocessors = 16;
    Database database(file, OpenMode::read_write);
    fill(database, device);

    Figures figures;
    figures.hold("tconv --version, whole process",
                 median_milliseconds(11,
                                     [&] {
                                         run_command({command, "--version"});
                                     }),
                 50);
    figures.hold("tconv cache list, 100,000 trials, whole process",
                 median_milliseconds(11,
                                     [&] {
                                         run_command({command, "cache", "list", "--database", file});
                                     }),
                 100);
    figures.hold("winner of one problem from the database",
                 median_milliseconds(101, [&] { (void)database.winner(layer(50), device, 1e-4); }), 0.5);
    const Runtime runtime(options);
    if (runtime.fetch(layer(50)).rung() != Rung::exact)
        throw Error(ErrorKind::not_found, "the stored winner was not served");
    figures.hold("fetch of a kernel fetched before", median_milliseconds(1001, [&] { (void)runtime.fetch(layer(50)); }),
                 0.01);
    hold_proposals(figures);
    hold_workers(figures, command);
    return figures.exit_code();
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        fmt::print(stderr, "usage: tconv_figures PATH/TO/tconv\n");
        return 2;
    }
    std::string name = (fs::temp_directory_path() / "tconv-figures-XXXXXX").string();
    const fs::path folder = mkdtemp(name.data());
    int code = 1;
    try {
        code = measure(arguments[1], folder);
    } catch (const std::exception& error) {
        fmt::print(stderr, "tconv_figures: {}\n", error.what());
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return code;
}
