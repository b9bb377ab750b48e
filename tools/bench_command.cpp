#include <fmt/chrono.h>
#include <fmt/format.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

#include "bench/run_json.hpp"
#include "cache/paths.hpp"
#include "core/error.hpp"
#include "device/driver/driver.hpp"
#include "tools/bench_options.hpp"
#include "tools/bench_report.hpp"
#include "tools/command.hpp"
#include "tools/device_choice.hpp"
#include "tools/format.hpp"
#include "tools/interrupt.hpp"
#include "tools/progress.hpp"
#include "tools/values.hpp"
#include "tuner/search_space.hpp"

namespace tconv {
namespace {

constexpr std::int64_t k_most_workspace_mebibytes = std::int64_t{1} << 20;

std::string now_utc() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

/// The peer, or why there is none.
struct OpenedPeer {
    std::unique_ptr<Cudnn> library;
    std::string reason;
};

OpenedPeer open_peer(const BenchOptions& options, Laboratory& laboratory) {
    if (options.cudnn == "none") return {nullptr, "left out with --cudnn none"};
    if (laboratory.device().info().kind == DeviceKind::emulator) return {nullptr, "cuDNN needs a GPU"};
    try {
        return {open_cudnn(laboratory.device(), laboratory.builder(), options.cudnn), ""};
    } catch (const Error& error) {
        if (!options.cudnn.empty()) throw Error(ErrorKind::bad_input, fmt::format("--cudnn: {}", error.what()));
        return {nullptr, error.what()};
    }
}

BenchRun facts_of(const DeviceInfo& device, Laboratory& laboratory, const OpenedPeer& peer, const GpuMonitor* monitor,
                  std::uint64_t seed, const std::string& command) {
    BenchRun run;
    run.tconv_version = TCONV_VERSION;
    run.started = now_utc();
    run.command = command;
    run.emulated = device.kind == DeviceKind::emulator;
    run.device_key = device_key(device);
    run.device_name = device.name;
    run.driver_version = device.driver_version;
    if (monitor != nullptr) run.driver_package = GpuMonitor::driver_package_version();
    run.compiler_version = laboratory.builder().compiler_version();
    run.peer_reason = peer.reason;
    if (peer.library) {
        run.peer_version = peer.library->status().version;
        run.peer_path = peer.library->status().path;
    }
    run.seed = seed;
    return run;
}

/// "[3/36] seed3d fp32 nchw: cuDNN's engines", over itself on a terminal and a line each elsewhere.
class Stages {
public:
    explicit Stages(std::size_t count) : count_(count) {}
    void show(std::size_t index, const BenchCell& cell, const std::string& stage) {
        const std::string line = fmt::format("[{}/{}] {} {} {}: {}", index + 1, count_, one_line(cell.layer),
                                             to_string(cell.mode), to_string(cell.problem.layout), stage);
        if (terminal_) {
            fmt::print(stderr, "\r\x1b[K{}", cut(line, static_cast<std::size_t>(std::max(style_.width - 1, 1))));
            std::fflush(stderr);
        } else if (std::exchange(shown_, index) != index) {
            fmt::print(stderr, "{}\n", line);
        }
    }
    void end() const {
        if (terminal_) fmt::print(stderr, "\r\x1b[K");
    }

private:
    std::size_t count_;
    std::size_t shown_ = std::numeric_limits<std::size_t>::max();
    TerminalStyle style_ = terminal_style(stderr);
    bool terminal_ = isatty(fileno(stderr)) != 0;
};

BenchRun measure(const BenchOptions& options, const std::string& command, bool& interrupted) {
    const std::vector<BenchCell> cells = make_cells(options);
    const std::uint64_t seed = parse_seed("--seed", options.seed);
    const bool prepared = weights_prepared(options);
    const double tune_seconds = options.tune_time == "0" ? 0 : parse_duration("--tune-time", options.tune_time);
    const std::int64_t workspace_limit =
        parse_integer("--cudnn-workspace", options.cudnn_workspace, 0, k_most_workspace_mebibytes) << 20;
    std::vector<BenchRun> known;
    for (const std::string& file : options.cudnn_known)
        known.push_back(read_run(file));
    const DeviceChoice choice = choose_device(options.device);
    Database database(options.database.empty() ? default_database_path() : std::filesystem::path(options.database),
                      OpenMode::read_write);
    const OpenedDevice opened = open_device(choice);
    const std::vector<SearchSpace> spaces = load_search_spaces();
    Laboratory laboratory(*opened.device, *opened.compiler);
    const OpenedPeer peer = open_peer(options, laboratory);
    std::optional<GpuMonitor> monitor;
    if (!choice.emulator) monitor.emplace(pci_bus_id(choice.ordinal));
    const GpuMonitor* watch = monitor ? &*monitor : nullptr;

    fmt::print(stderr, "{}; seed {}\n", one_line(choice.reason), seed);
    BenchRun run = facts_of(opened.device->info(), laboratory, peer, watch, seed, command);
    run.weights_prepared = prepared;
    if (!known.empty()) {
        run.warnings.push_back(fmt::format("cuDNN: of the problems in {} only the engines that were fastest there",
                                           fmt::join(options.cudnn_known, ", ")));
    }
    run.ceilings = laboratory.ceilings();
    database.store_ceilings(opened.device->info(), run.ceilings);
    const KernelSource source{laboratory, &database, spaces, seed, tune_seconds, prepared};
    BenchSession session(source, {peer.library.get(), peer.reason, workspace_limit, prepared, KnownWays(known)}, watch);
    const InterruptWatch interrupt;
    Stages stages(cells.size());
    for (std::size_t i = 0; i < cells.size() && !interrupt.interrupted(); ++i) {
        BenchResult result = session.measure(
            cells[i], [&](const std::string& stage) { stages.show(i, cells[i], stage); }, interrupt.token());
        if (interrupt.interrupted()) break;
        run.results.push_back(std::move(result));
        if (options.json) write_run(run, *options.json);  // what is measured outlives whatever comes
    }
    stages.end();
    interrupted = interrupt.interrupted();
    if (interrupted)
        run.warnings.push_back(fmt::format("interrupted after {} of {}", run.results.size(), cells.size()));
    return run;
}

bool anything_measured(const BenchRun& run) {
    return std::any_of(run.results.begin(), run.results.end(), [](const BenchResult& r) { return r.ours.has_value(); });
}

int run_bench(const BenchOptions& options, const std::string& command) {
    // Read first: a wrong name must not show only after the measuring.
    std::optional<BenchRun> before;
    if (options.compare) before = read_run(*options.compare);
    bool interrupted = false;
    const BenchRun run = options.from ? read_run(*options.from) : measure(options, command, interrupted);
    if (options.json) write_run(run, *options.json);
    fmt::print("{}", bench_report(run));
    if (before) fmt::print("\n{}", comparison_report(compare_runs(*before, run), *before));
    if (interrupted) return k_exit_interrupted;
    return anything_measured(run) ? k_exit_ok : k_exit_failed;
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_code, const std::string& command_text) {
    CLI::App* command = app.add_subcommand("bench", "Compare tconv with cuDNN and with the device's limit");
    const auto options = std::make_shared<BenchOptions>();
    add_bench_options(*command, *options);
    command->callback([options, command_text, &exit_code] { exit_code = run_bench(*options, command_text); });
}

}  // namespace tconv
