#include "tuner/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>

#include "core/error.hpp"
#include "kernel_sources/reference.hpp"
#include "kernel_sources/sources.hpp"
#include "tuner/ceilings.hpp"
#include "tuner/compile_pool.hpp"
#include "tuner/evaluate.hpp"
#include "tuner/strategies/random_then_climb.hpp"
#include "tuner/trial_log.hpp"

namespace tconv {
namespace {

using Clock = std::chrono::steady_clock;

// Random sampling ends after its share of this many trials, however many are allowed: climbing finds more from then on.
constexpr std::int64_t k_search_budget = 200;
constexpr double k_emulated_flops = 1e9;  // beyond, a single run takes the emulator minutes
constexpr std::size_t k_finalists = 6;
constexpr double k_finalist_factor = 1.10;  // slower than this times the best: not worth timing again
constexpr double k_binary_factor = 1.25;    // machine code is stored for trials up to this times the best
constexpr int k_finalist_rounds = 15;
constexpr double k_finalist_seconds = 3;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One family in the race.
struct Runner {
    const SearchSpace* space;
    std::string hash;
    std::unique_ptr<RandomThenClimb> strategy;
    bool exhausted = false;
};

class Session {
public:
    Session(const TuneRequest& request, const TuneEnvironment& environment,
            const std::function<void(const TuneProgress&)>& progress, std::stop_token stop)
        : request_(request),
          environment_(environment),
          progress_(progress),
          stop_(std::move(stop)),
          device_(environment.device),
          tolerance_(request.tolerance < 0 ? default_tolerance(request.problem.dtype) : request.tolerance),
          log_(environment.database, device_.info(), request.problem, tolerance_) {}

    TuneResult run() {
        choose_families();
        prepare();
        search();
        finalists();
        return finish();
    }

private:
    void choose_families();
    void prepare();
    void search();
    void finalists();
    [[nodiscard]] TuneResult finish();

    [[nodiscard]] bool out_of_time() const {
        return stop_.stop_requested() || device_lost_ || seconds_since(start_) >= request_.time_limit_seconds;
    }
    [[nodiscard]] std::optional<Candidate> next_candidate();
    void top_up(CompilePool& pool);
    void evaluate_one(Candidate candidate);
    void store(const Candidate& candidate, Evaluation& evaluation);
    void time_reference();
    [[nodiscard]] Runner& runner_of(const std::string& family);
    void report(const char* stage);

    const TuneRequest& request_;
    const TuneEnvironment& environment_;
    const std::function<void(const TuneProgress&)>& progress_;
    std::stop_token stop_;
    Device& device_;
    double tolerance_;
    TrialLog log_;
    std::vector<Runner> runners_;
    std::size_t turn_ = 0;
    Clock::time_point start_ = Clock::now();
    std::unique_ptr<Builder> builder_;
    std::unique_ptr<SupportKernels> support_;
    std::unique_ptr<Timer> timer_;
    std::unique_ptr<Validator> validator_;
    Ceilings ceilings_;
    std::optional<double> reference_milliseconds_;
    std::int64_t reused_ = 0;
    std::int64_t measured_ = 0;
    double busy_seconds_ = 0;
    bool device_lost_ = false;
    std::vector<std::string> warnings_;
};

void Session::choose_families() {
    const Problem& problem = request_.problem;
    validate(problem);
    if (problem.batch == 0)
        throw Error(ErrorKind::bad_input, "batch (0) must be at least 1 for tuning: there is nothing to run");
    if (device_.info().kind == DeviceKind::emulator && flops(problem) > k_emulated_flops) {
        throw Error(ErrorKind::bad_input,
                    fmt::format("the problem takes {:.3g} GFLOP, and the emulator at most {:.3g}: it needs a GPU",
                                flops(problem) / 1e9, k_emulated_flops / 1e9));
    }
    std::string refusals;
    for (const SearchSpace& space : environment_.spaces) {
        const std::string refusal = space.refusal(problem, device_.info());
        if (!refusal.empty()) {
            refusals += (refusals.empty() ? "" : "; ") + refusal;
            continue;
        }
        SearchSettings settings;
        settings.seed = request_.seed;
        settings.budget = std::min(request_.trials, k_search_budget);
        auto strategy = std::make_unique<RandomThenClimb>(space, problem, device_.info(), settings);
        if (strategy->empty()) {
            refusals += (refusals.empty() ? "" : "; ") + fmt::format("{} has no valid config for it", space.name());
            continue;
        }
        runners_.push_back({&space, template_hash(space.template_file()), std::move(strategy)});
    }
    if (runners_.empty()) {
        throw Error(ErrorKind::bad_input,
                    fmt::format("no kernel family takes this problem ({}): {}", key(problem), refusals));
    }
    for (Runner& runner : runners_)
        log_.recall(runner.space->name(), runner.hash);
    for (const Trial& trial : log_.trials()) {
        runner_of(trial.template_name)
            .strategy->report(trial.config,
                              log_.is_good(trial) ? std::optional(trial.outcome.timing.median) : std::nullopt);
    }
    reused_ = static_cast<std::int64_t>(log_.trials().size());
}

void Session::prepare() {
    report("reference");
    builder_ = std::make_unique<Builder>(environment_.compiler, device_.info());
    if (!builder_->warning().empty()) warnings_.push_back(builder_->warning());
    support_ = std::make_unique<SupportKernels>(device_, *builder_);
    const auto busy = Clock::now();
    timer_ = std::make_unique<Timer>(device_);
    ceilings_ = measure_ceilings(device_, *support_, *timer_);
    if (environment_.database != nullptr) {
        try {
            environment_.database->store_ceilings(device_.info(), ceilings_);
        } catch (const Error& error) {
            warnings_.push_back(fmt::format("the device's ceilings could not be stored: {}", error.what()));
        }
    }
    validator_ = std::make_unique<Validator>(device_, *support_, request_.problem, request_.seed);
    time_reference();
    busy_seconds_ += seconds_since(busy);
}

void Session::time_reference() {
    const LaunchPlan plan = reference_plan(request_.problem);
    const CallTensors tensors = validator_->timing_tensors(plan);
    const auto work = [&] {
        launch_plan(device_, support_->reference_module(), plan, request_.problem.batch, tensors);
    };
    // One sample: it is far slower than any candidate, and only a scale for people.
    reference_milliseconds_ = device_
                                  .time(
                                      1, [] {}, work)
                                  .front();
}

std::optional<Candidate> Session::next_candidate() {
    for (std::size_t tries = 0; tries < runners_.size(); ++tries) {
        Runner& runner = runners_[turn_++ % runners_.size()];
        if (runner.exhausted) continue;
        const auto config = runner.strategy->propose();
        if (!config) {
            runner.exhausted = true;
            continue;
        }
        Candidate candidate;
        candidate.problem = request_.problem;
        candidate.template_name = runner.space->name();
        candidate.config = *config;
        candidate.plan = runner.space->plan(request_.problem, device_.info(), *config);
        candidate.tolerance = tolerance_;
        return candidate;
    }
    return std::nullopt;
}

void Session::top_up(CompilePool& pool) {
    const std::size_t ahead = 2 * pool.threads();
    while (pool.outstanding() < ahead &&
           reused_ + measured_ + static_cast<std::int64_t>(pool.outstanding()) < request_.trials) {
        auto candidate = next_candidate();
        if (!candidate) return;
        pool.submit(std::move(*candidate));
    }
}

void Session::search() {
    report("search");
    CompilePool pool(*builder_, environment_.compile_threads);
    while (!out_of_time()) {
        top_up(pool);
        if (pool.outstanding() == 0) break;
        constexpr double patience = 0.1;  // then look at the clock and at Ctrl-C
        if (auto candidate = pool.take(patience)) evaluate_one(std::move(*candidate));
    }
}

void Session::evaluate_one(Candidate candidate) {
    candidate.best_milliseconds = log_.best_milliseconds().value_or(0);
    const auto busy = Clock::now();
    Evaluation evaluation = evaluate(candidate, {device_, *builder_, *validator_, *timer_});
    busy_seconds_ += seconds_since(busy);
    ++measured_;
    store(candidate, evaluation);
    if (evaluation.outcome.kind == OutcomeKind::launch_error) {
        try {
            device_.synchronize();
        } catch (const Error& error) {
            device_lost_ = true;
            warnings_.push_back(fmt::format(
                "the search ended early: the device answers no more after a candidate's failure ({})", error.what()));
        }
    }
    report("search");
}

void Session::store(const Candidate& candidate, Evaluation& evaluation) {
    Trial trial;
    trial.problem = request_.problem;
    trial.problem_name = request_.problem_name;
    trial.template_name = candidate.template_name;
    trial.template_hash = runner_of(candidate.template_name).hash;
    trial.config = candidate.config;
    trial.outcome = std::move(evaluation.outcome);
    trial.driver_version = device_.info().driver_version;
    trial.compiler_version = builder_->compiler_version();
    const bool good = log_.is_good(trial);
    const double best = candidate.best_milliseconds;
    const bool near_best = good && (best == 0 || trial.outcome.timing.median <= best * k_binary_factor);
    const bool machine_code = near_best && device_.info().kind == DeviceKind::cuda;
    if (!machine_code) trial.outcome.binary_key.clear();
    log_.record(trial, machine_code ? evaluation.code.code : std::string());
    runner_of(trial.template_name)
        .strategy->report(trial.config, good ? std::optional(trial.outcome.timing.median) : std::nullopt);
}

void Session::finalists() {
    if (measured_ == 0 || device_lost_) return;
    report("finalists");
    const auto busy = Clock::now();
    struct Finalist {
        Trial trial;
        std::unique_ptr<Module> module;
    };
    std::deque<Finalist> finalists;
    double round_seconds = 0;
    const double best = log_.best_milliseconds().value_or(0);
    for (const Trial* trial : log_.ranking()) {
        if (finalists.size() == k_finalists || trial->outcome.timing.median > best * k_finalist_factor) break;
        Candidate candidate{request_.problem, trial->template_name, trial->config, trial->outcome.plan, tolerance_, 0};
        const CompileResult compiled = builder_->take(candidate);
        if (!compiled.ok) continue;
        finalists.push_back({*trial, device_.load(compiled.code)});
        round_seconds += trial->outcome.timing.median / 1000;
    }
    if (finalists.size() < 2) return;
    std::vector<std::function<void()>> works;
    for (const Finalist& finalist : finalists) {
        const CallTensors tensors = validator_->timing_tensors(finalist.trial.outcome.plan);
        works.emplace_back([this, &finalist, tensors] {
            launch_plan(device_, *finalist.module, finalist.trial.outcome.plan, request_.problem.batch, tensors);
        });
    }
    const int affordable = static_cast<int>(std::min(k_finalist_seconds / std::max(round_seconds, 1e-9), 1e6));
    const auto timings = timer_->interleave(works, std::clamp(affordable, 3, k_finalist_rounds));
    for (std::size_t i = 0; i < finalists.size(); ++i) {
        finalists[i].trial.outcome.timing = timings[i];
        log_.record(finalists[i].trial, {});
    }
    busy_seconds_ += seconds_since(busy);
}

TuneResult Session::finish() {
    TuneResult result;
    result.problem = request_.problem;
    result.problem_name = request_.problem_name;
    result.tolerance = tolerance_;
    result.device = device_key(device_.info());
    result.emulated = device_.info().kind == DeviceKind::emulator;
    const auto ranking = log_.ranking();
    if (!ranking.empty()) result.winner = *ranking[0];
    if (ranking.size() > 1) result.runner_up = *ranking[1];
    result.reference_milliseconds = reference_milliseconds_;
    result.ceilings = ceilings_;
    result.limit_milliseconds = limit_milliseconds(request_.problem, ceilings_);
    result.trials_measured = measured_;
    result.trials_reused = reused_;
    result.failures = log_.failures();
    result.seconds = seconds_since(start_);
    result.device_busy_seconds = busy_seconds_;
    result.interrupted = stop_.stop_requested();
    result.warnings = warnings_;
    if (environment_.database == nullptr) result.warnings.emplace_back("no database: nothing was kept");
    result.warnings.insert(result.warnings.end(), log_.warnings().begin(), log_.warnings().end());
    return result;
}

Runner& Session::runner_of(const std::string& family) {
    return *std::find_if(runners_.begin(), runners_.end(), [&](const Runner& r) { return r.space->name() == family; });
}

void Session::report(const char* stage) {
    if (!progress_) return;
    TuneProgress progress;
    progress.stage = stage;
    progress.trials_done = reused_ + measured_;
    progress.trials_total = std::max(request_.trials, reused_);
    progress.best_milliseconds = log_.best_milliseconds();
    progress.reference_milliseconds = reference_milliseconds_;
    progress.failures = log_.failures();
    progress.seconds_used = seconds_since(start_);
    progress.seconds_limit = request_.time_limit_seconds;
    progress_(progress);
}

}  // namespace

TuneResult tune(const TuneRequest& request, const TuneEnvironment& environment,
                const std::function<void(const TuneProgress&)>& progress, std::stop_token stop) {
    return Session(request, environment, progress, std::move(stop)).run();
}

}  // namespace tconv
