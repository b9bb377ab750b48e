#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "cache/paths.hpp"
#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/device_choice.hpp"
#include "tools/format.hpp"
#include "tools/interrupt.hpp"
#include "tools/progress.hpp"
#include "tools/report.hpp"
#include "tools/report_json.hpp"
#include "tools/tune_options.hpp"
#include "tuner/local_evaluator.hpp"
#include "tuner/session.hpp"
#include "tuner/workers/worker_evaluator.hpp"

namespace tconv {
namespace {

/// What became of one request: a result, or the sentence that says why there is none.
struct Finished {
    TuneRequest request;
    std::optional<TuneResult> result;
    std::string error;
};

/// Opened before any work, so that trials do not turn out to have nowhere to go.
Database open_database(const std::string& path) {
    return {path.empty() ? default_database_path() : std::filesystem::path(path), OpenMode::read_write};
}

/// Where the candidates of a run are evaluated: in workers, or here.
class EvaluatorHolder {
public:
    EvaluatorHolder(const TuneOptions& options, const DeviceChoice& choice) {
        const std::optional<std::size_t> device_memory = parse_device_memory_limit(options.device_memory_limit);
        if (!options.in_process) {
            evaluator_ =
                std::make_unique<WorkerEvaluator>(worker_commands(choice, device_memory), worker_limits(options));
            return;
        }
        opened_ = open_device(choice);
        limit_device_memory(*opened_.device, device_memory);
        laboratory_ = std::make_unique<Laboratory>(*opened_.device, *opened_.compiler, disturbance_watch(choice));
        evaluator_ = std::make_unique<LocalEvaluator>(*laboratory_);
    }
    [[nodiscard]] Evaluator& evaluator() const { return *evaluator_; }

private:
    OpenedDevice opened_;
    std::unique_ptr<Laboratory> laboratory_;
    std::unique_ptr<Evaluator> evaluator_;
};

std::string label_of(const TuneRequest& request, std::size_t index, std::size_t count) {
    const std::string name = request.problem_name;
    return count == 1 ? name : fmt::format("[{}/{}] {}", index + 1, count, name);
}

/// Tunes request after request. Among several, one that fails costs only itself. `opening` is printed once the first
/// session is under way: a request that is refused leaves its one line alone on stderr.
std::vector<Finished> tune_all(const std::vector<TuneRequest>& requests, const TuneEnvironment& environment,
                               const InterruptWatch& watch, std::string opening,
                               const std::function<void(const TuneResult&)>& show) {
    ProgressPrinter printer(stderr);
    std::vector<Finished> finished;
    for (std::size_t index = 0; index < requests.size() && !watch.interrupted(); ++index) {
        Finished next{requests[index], std::nullopt, ""};
        printer.begin(label_of(next.request, index, requests.size()));
        try {
            const auto update = [&](const TuneProgress& progress) {
                std::fputs(std::exchange(opening, "").c_str(), stderr);
                printer.update(progress);
            };
            next.result = tune(next.request, environment, update, watch.token());
            printer.end();
            show(*next.result);
        } catch (const Error& error) {
            if (requests.size() == 1) throw;
            printer.end();
            next.error = one_line(error.what());
            std::fputs(fmt::format("tconv: {}: {}\n", next.request.problem_name, next.error).c_str(), stderr);
        }
        finished.push_back(std::move(next));
    }
    return finished;
}

std::vector<TuneResult> results_of(const std::vector<Finished>& finished) {
    std::vector<TuneResult> results;
    for (const Finished& one : finished) {
        if (one.result) results.push_back(*one.result);
    }
    return results;
}

std::string run_json(const std::vector<Finished>& finished, std::uint64_t seed, const std::string& database,
                     const DeviceInfo& device, bool interrupted) {
    nlohmann::ordered_json document{
        {"tconv", TCONV_VERSION},
        {"device", device_key(device)},
        {"driver", device.driver_version},
        {"database", database},
        {"seed", seed},
        {"interrupted", interrupted},
    };
    auto& results = document["results"] = nlohmann::ordered_json::array();
    for (const Finished& one : finished) {
        if (one.result) {
            results.push_back(result_json(*one.result));
        } else {
            results.push_back({{"name", one.request.problem_name},
                               {"problem", problem_json(one.request.problem)},
                               {"error", one.error}});
        }
    }
    return dump_json(document);
}

int run_tune(const TuneOptions& options) {
    const std::vector<TuneRequest> requests = make_requests(options);
    const DeviceChoice choice = choose_device(options.device);
    Database database = open_database(options.database);
    const std::vector<SearchSpace> spaces = load_search_spaces();
    const EvaluatorHolder holder(options, choice);
    const DeviceInfo device = holder.evaluator().device();

    const ReportContext context{database.path().string(), terminal_style(stdout).width};
    const TuneEnvironment environment{holder.evaluator(), &database, spaces};
    const std::string opening = fmt::format("{}; seed {}\n", one_line(choice.reason), options.seed);
    const InterruptWatch watch;
    const auto show = [&](const TuneResult& result) {
        if (options.json) return;
        fmt::print("{}\n", report(result, context));
        std::fflush(stdout);
    };
    const std::vector<Finished> finished = tune_all(requests, environment, watch, opening, show);

    if (options.json) {
        fmt::print("{}", run_json(finished, requests.front().seed, context.database, device, watch.interrupted()));
    } else if (requests.size() > 1) {
        fmt::print("{}", summary(results_of(finished)));
    }
    if (watch.interrupted()) return k_exit_interrupted;
    const bool all_won = std::all_of(finished.begin(), finished.end(),
                                     [](const Finished& one) { return one.result && one.result->winner; });
    return all_won ? k_exit_ok : k_exit_failed;
}

}  // namespace

void add_tune_command(CLI::App& app, int& exit_code) {
    CLI::App* command = app.add_subcommand("tune", "Find the fastest kernel for a problem and keep it");
    const auto options = std::make_shared<TuneOptions>();
    add_tune_options(*command, *options);
    command->callback([options, &exit_code] { exit_code = run_tune(*options); });
}

}  // namespace tconv
