#include "tuner/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "cache/front.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "tuner/ceilings.hpp"
#include "tuner/compile_pool.hpp"
#include "tuner/contest.hpp"
#include "tuner/evaluate.hpp"
#include "tuner/proposer.hpp"
#include "tuner/recall.hpp"
#include "tuner/stage_clock.hpp"
#include "tuner/tie.hpp"
#include "tuner/trial_log.hpp"

namespace tconv {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double k_emulated_flops = 1e9;  // beyond, a single run takes the emulator minutes
constexpr std::size_t k_finalists = 6;
constexpr double k_finalist_factor = 1.10;  // slower than this times the best: not worth timing again
constexpr double k_binary_factor = 1.25;    // machine code is stored for trials up to this times the best
constexpr int k_finalist_rounds = 15;
constexpr double k_finalist_seconds = 3;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What came of a candidate.
struct Finished {
    Trial trial;
    std::string code;
    double best_before = 0;  ///< the best time when it was measured; 0: none
};

class Session {
public:
    Session(const TuneRequest& request, const TuneEnvironment& environment,
            const std::function<void(const TuneProgress&)>& progress, std::stop_token stop)
        : request_(request),
          environment_(environment),
          progress_(progress),
          stop_(std::move(stop)),
          evaluator_(environment.evaluator),
          device_(environment.evaluator.device()),
          tolerance_(request.tolerance < 0 ? default_tolerance(request.problem.dtype) : request.tolerance),
          log_(environment.database, device_, request.problem, tolerance_,
               environment.evaluator.builder().compiler_version(), request.strict) {
        validate(request.problem);
        if (const std::string refusal = run_refusal(request.problem, device_); !refusal.empty())
            throw Error(ErrorKind::bad_input, refusal);
        contest_.emplace(request.problem, device_, environment.spaces, request.seed, request.trials, tolerance_,
                         request.strict);
    }

    TuneResult run() {
        recall();
        {
            CompilePool pool(evaluator_.builder(), environment_.compile_threads);
            // Those on the device and next to go there are not in the pool.
            Proposer proposer(*contest_, pool, request_.trials - counted_,
                              2 * static_cast<std::int64_t>(pool.threads()) + 2);
            prepare();
            search(pool, proposer);
        }
        finalists();
        store_code_of_winners();
        return finish();
    }

private:
    void recall();
    void prepare();
    void search(CompilePool& pool, Proposer& proposer);
    void finalists();
    [[nodiscard]] std::vector<const Trial*> choose_finalists() const;
    void store_code_of_winners();
    [[nodiscard]] TuneResult finish();

    [[nodiscard]] bool out_of_time() const {
        if (stop_.stop_requested() || device_lost_) return true;
        if (seconds_since(start_) < request_.time_limit_seconds) return false;
        // Getting the device ready may have taken all of it: then a first session still tries a candidate.
        return request_.time_limit_seconds <= 0 || measured_ > 0 || reused_ > 0;
    }
    /// A candidate on the device.
    struct Flight {
        BuiltCandidate built;
        std::future<Measurement> measurement;
    };

    [[nodiscard]] std::optional<BuiltCandidate> take_built(CompilePool& pool, Proposer& proposer, bool device_waits);
    [[nodiscard]] std::unique_ptr<Flight> start(BuiltCandidate built, const std::optional<Finished>& last);
    [[nodiscard]] std::optional<Finished> land(Flight& flight);
    [[nodiscard]] Finished finished(const Candidate& candidate, Evaluation evaluation) const;
    void store(Finished finished, Proposer& proposer);
    void report(const char* stage);

    const TuneRequest& request_;
    const TuneEnvironment& environment_;
    const std::function<void(const TuneProgress&)>& progress_;
    std::stop_token stop_;
    Evaluator& evaluator_;
    const DeviceInfo& device_;
    double tolerance_;
    double reach_ = request_.strict ? 0 : tolerance_;
    TrialLog log_;
    Clock::time_point start_ = Clock::now();
    std::optional<Contest> contest_;
    std::optional<Trial> incumbent_;  // the winner of earlier sessions
    Ceilings ceilings_;
    std::optional<double> reference_milliseconds_;
    std::int64_t reused_ = 0;
    std::int64_t counted_ = 0;  // of the reused: see count_of_recalled
    std::vector<FormerWinner> former_;
    std::int64_t measured_ = 0;
    StageClock clock_;
    double device_seconds_before_ = evaluator_.device_seconds();
    bool device_lost_ = false;
    std::vector<std::string> warnings_;
};

void Session::recall() {
    former_ = recall_trials(log_, *contest_);
    reused_ = static_cast<std::int64_t>(log_.trials().size());
    counted_ = count_of_recalled(log_, *contest_, reach_, request_.trials);
    if (const auto ranking = log_.ranking(); !ranking.empty()) incumbent_ = *ranking.front();
}

void Session::prepare() {
    clock_.enter(&StageSeconds::preparing);
    report("reference");
    if (const std::string& warning = evaluator_.builder().warning(); !warning.empty()) warnings_.push_back(warning);
    const Preparation preparation = evaluator_.prepare(request_.problem, request_.seed);
    clock_.enter(&StageSeconds::other);
    ceilings_ = preparation.ceilings;
    reference_milliseconds_ = preparation.reference_milliseconds;
    if (environment_.database == nullptr) return;
    try {
        environment_.database->store_ceilings(device_, ceilings_);
    } catch (const Error& error) {
        warnings_.push_back(fmt::format("the device's ceilings could not be stored: {}", error.what()));
    }
}

// One candidate is on the device; meanwhile the next one is built, the last one's outcome is stored and further ones
// are proposed.
void Session::search(CompilePool& pool, Proposer& proposer) {
    report("search");
    std::unique_ptr<Flight> flight;
    while (flight || !out_of_time()) {
        std::optional<BuiltCandidate> next;
        if (!out_of_time()) next = take_built(pool, proposer, !flight);
        const bool nothing_comes = proposer.is_idle() && pool.outstanding() == 0;
        if (!next && !flight && nothing_comes) break;
        std::optional<Finished> last;
        const bool ended = flight && flight->measurement.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        // The device is waited for where there is something new for it, or nothing else to wait for.
        if (flight && (next || nothing_comes || ended || out_of_time())) last = land(*std::exchange(flight, nullptr));
        if (next && next->ready && !out_of_time()) flight = start(*std::exchange(next, std::nullopt), last);
        if (last) store(*std::move(last), proposer);
        if (next && !next->ready) store(finished(next->compiled.candidate, std::move(next->evaluation)), proposer);
    }
}

std::optional<BuiltCandidate> Session::take_built(CompilePool& pool, Proposer& proposer, bool device_waits) {
    if (proposer.is_idle() && pool.outstanding() == 0) return std::nullopt;
    const bool compiles = pool.outstanding() > 0;
    if (device_waits) clock_.enter(compiles ? &StageSeconds::compiling : &StageSeconds::proposing);
    // Then look at the clock, at Ctrl-C and at the device.
    const double patience = compiles ? 0.1 : 0.005;
    const std::optional<Candidate> candidate = pool.take(patience);
    std::optional<BuiltCandidate> built;
    if (candidate) built = build_candidate(*candidate, evaluator_);
    if (device_waits) clock_.enter(&StageSeconds::other);
    return built;
}

// `last` came back just now and is not stored yet.
std::unique_ptr<Session::Flight> Session::start(BuiltCandidate built, const std::optional<Finished>& last) {
    double best = log_.best_milliseconds().value_or(0);
    if (last && log_.is_good(last->trial)) {
        const double median = last->trial.outcome.timing.median;
        best = best > 0 ? std::min(best, median) : median;
    }
    built.compiled.candidate.best_milliseconds = best;
    clock_.enter(&StageSeconds::handing_over);
    auto flight = std::make_unique<Flight>();
    flight->built = std::move(built);
    flight->measurement = std::async(
        std::launch::async, [this, &compiled = flight->built.compiled] { return evaluator_.measure(compiled); });
    return flight;
}

// Nothing where the candidate did not run.
std::optional<Finished> Session::land(Flight& flight) {
    Measurement measurement;
    try {
        measurement = flight.measurement.get();
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::unavailable) throw;
        device_lost_ = true;
        warnings_.push_back(fmt::format("the search ended early: {}", error.what()));
        return std::nullopt;
    }
    clock_.enter(&StageSeconds::other);
    clock_.divide(&StageSeconds::handing_over, measurement.seconds);
    if (measurement.device_lost) {
        device_lost_ = true;
        warnings_.push_back(
            fmt::format("the search ended early: the device answers no more after a candidate's failure ({})",
                        measurement.outcome.reason));
    }
    const Candidate candidate = flight.built.compiled.candidate;
    return finished(candidate, with_measurement(std::move(flight.built), std::move(measurement), device_));
}

Finished Session::finished(const Candidate& candidate, Evaluation evaluation) const {
    Trial trial;
    trial.problem = request_.problem;
    trial.problem_name = request_.problem_name;
    trial.template_name = candidate.template_name;
    trial.template_hash = contest_->template_hash_of(candidate.template_name);
    trial.config = candidate.config;
    if (const auto expected = contest_->expectation(trial.template_name, trial.config)) trial.strict = expected->strict;
    trial.reach = reach_;
    trial.outcome = std::move(evaluation.outcome);
    trial.driver_version = device_.driver_version;
    trial.compiler_version = evaluator_.builder().compiler_version();
    return {std::move(trial), std::move(evaluation.code.code), candidate.best_milliseconds};
}

void Session::store(Finished finished, Proposer& proposer) {
    Trial& trial = finished.trial;
    proposer.report(trial.template_name, trial.config, log_.search_time(trial));
    ++measured_;
    const double best = finished.best_before;
    const bool near_best = best == 0 || trial.outcome.timing.median <= best * k_binary_factor;
    const bool worth_it = log_.is_good(trial) && (near_best || log_.would_win(trial));
    const bool machine_code = worth_it && device_.kind == DeviceKind::cuda;
    if (!machine_code) trial.outcome.binary_key.clear();
    log_.record(trial, machine_code ? finished.code : std::string());
    report("search");
}

// The fastest by what is known of them. One sample may be all that is known of a trial that was dropped beside a faster
// one of a looser tolerance.
std::vector<const Trial*> Session::choose_finalists() const {
    std::vector<const Trial*> trials = log_.ranking();
    const auto time = [](const Trial* trial) { return trial->outcome.timing.median; };
    std::stable_sort(trials.begin(), trials.end(), [&](const Trial* a, const Trial* b) { return time(a) < time(b); });
    const bool settled = measured_ == 0 && (trials.empty() || !trials.front()->outcome.timing.dropped_early);
    if (settled) return {};
    const auto end = std::find_if(trials.begin(), trials.end(), [&](const Trial* trial) {
        return time(trial) > time(trials.front()) * k_finalist_factor;
    });
    trials.resize(std::min(k_finalists, static_cast<std::size_t>(end - trials.begin())));
    return trials;
}

void Session::finalists() {
    if (device_lost_) return;
    const std::vector<const Trial*> chosen = choose_finalists();
    if (chosen.empty()) return;
    clock_.enter(&StageSeconds::finalists);
    report("finalists");
    std::vector<Trial> trials;
    std::vector<Compiled> candidates;
    for (const Trial* trial : chosen) {
        Candidate candidate{request_.problem, trial->template_name, trial->config, trial->outcome.plan, tolerance_, 0};
        CompileResult compiled;
        try {
            compiled = evaluator_.builder().take(candidate);
        } catch (const Error&) {
            continue;  // it is not compiled again: its time of the search stands
        }
        if (!compiled.ok) continue;
        trials.push_back(*trial);
        candidates.push_back({std::move(candidate), std::move(compiled.code)});
    }
    if (trials.size() < 2) return;
    std::vector<Timing> timings;
    try {
        timings = evaluator_.time_in_turn(candidates, k_finalist_rounds, k_finalist_seconds);
    } catch (const Error& error) {
        warnings_.emplace_back(error.what());
    }
    clock_.enter(&StageSeconds::other);
    if (timings.size() != trials.size()) {
        warnings_.emplace_back("the finalists could not be timed in turn: the times of the search stand");
        return;
    }
    for (std::size_t i = 0; i < trials.size(); ++i)
        trials[i].outcome.timing = timings[i];
    settle_tie(trials, incumbent_);
    for (const Trial& trial : trials)
        log_.record(trial, {});
}

// Whatever tolerance a program asks for, its winner must have its machine code: a trial may win only now, after others
// were timed again, or within a stricter tolerance than that of the session that measured it, or the database has lost
// it.
void Session::store_code_of_winners() {
    if (device_.kind != DeviceKind::cuda) return;
    std::vector<Trial> without_code;
    for (const Trial* trial : winners_at_some_tolerance(log_.ranking())) {
        if (!log_.has_code(*trial)) without_code.push_back(*trial);
    }
    for (Trial& trial : without_code) {
        if (stop_.stop_requested()) return;
        try {
            const CompileResult compiled = evaluator_.builder().take(
                {request_.problem, trial.template_name, trial.config, trial.outcome.plan, tolerance_, 0});
            if (!compiled.ok) continue;
            trial.outcome.binary_key = content_hash(compiled.code.code);
            log_.record(trial, compiled.code.code);
        } catch (const Error& error) {
            warnings_.push_back(fmt::format("a winner's machine code could not be made: {}", error.what()));
        }
    }
}

TuneResult Session::finish() {
    log_.finish();
    TuneResult result;
    result.problem = request_.problem;
    result.problem_name = request_.problem_name;
    result.tolerance = tolerance_;
    result.strict = request_.strict;
    result.device = device_key(device_);
    result.emulated = device_.kind == DeviceKind::emulator;
    const auto ranking = log_.ranking();
    if (!ranking.empty()) result.winner = *ranking[0];
    if (ranking.size() > 1) result.runner_up = *ranking[1];
    for (const Trial* trial : pareto_front(ranking))
        result.front.push_back(*trial);
    result.reference_milliseconds = reference_milliseconds_;
    result.ceilings = ceilings_;
    result.limit_milliseconds = limit_milliseconds(
        request_.problem, ceilings_, fastest_arithmetic(request_.problem.dtype, tolerance_, request_.strict));
    result.trials_measured = measured_;
    result.trials_reused = reused_;
    result.trials_former = std::count_if(former_.begin(), former_.end(), [&](const FormerWinner& winner) {
        return log_.holds(winner.family, winner.config);
    });
    result.failures = log_.failures();
    clock_.enter(&StageSeconds::other);
    result.stages = clock_.seconds();
    visit_stages(result.stages, [&](const char*, double seconds) { result.seconds += seconds; });
    result.device_busy_seconds = evaluator_.device_seconds() - device_seconds_before_;
    result.interrupted = stop_.stop_requested();
    result.warnings = warnings_;
    if (environment_.database == nullptr) result.warnings.emplace_back("no database: nothing was kept");
    result.warnings.insert(result.warnings.end(), log_.warnings().begin(), log_.warnings().end());
    return result;
}

void Session::report(const char* stage) {
    if (!progress_) return;
    TuneProgress progress;
    progress.stage = stage;
    progress.trials_done = counted_ + measured_;
    progress.trials_total = std::max(request_.trials, counted_);
    progress.best_milliseconds = log_.best_milliseconds();
    progress.reference_milliseconds = reference_milliseconds_;
    progress.failures = log_.failures();
    progress.seconds_used = seconds_since(start_);
    progress.seconds_limit = request_.time_limit_seconds;
    progress_(progress);
}

}  // namespace

std::string run_refusal(const Problem& problem, const DeviceInfo& device) {
    if (problem.batch == 0) return "batch (0) must be at least 1: there is nothing to run";
    if (device.kind == DeviceKind::emulator && flops(problem) > k_emulated_flops) {
        return fmt::format("the problem takes {:.3g} GFLOP, and the emulator at most {:.3g}: it needs a GPU",
                           flops(problem) / 1e9, k_emulated_flops / 1e9);
    }
    return "";
}

TuneResult tune(const TuneRequest& request, const TuneEnvironment& environment,
                const std::function<void(const TuneProgress&)>& progress, std::stop_token stop) {
    return Session(request, environment, progress, std::move(stop)).run();
}

}  // namespace tconv
