#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cache/database.hpp"
#include "core/outcome.hpp"
#include "core/problem.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/search_space.hpp"
#include "tuner/stage_clock.hpp"

namespace tconv {

/// What to tune and how long to try.
struct TuneRequest {
    Problem problem;
    std::string problem_name;  ///< the layer's name, for people; may be empty
    double tolerance = -1;     ///< largest error of a winner; negative: the dtype's default
    bool strict = false;       ///< plain fp32 arithmetic alone
    /// Candidates to look at. Stored ones count where their session searched at least as far: one of the same
    /// tolerance or a looser one, and anything is as far as strict. Half of the trials stay for families that have
    /// none.
    std::int64_t trials = 200;
    /// Beyond it no candidate is begun, but the first one of a problem of which nothing is known; 0: not even that.
    double time_limit_seconds = 60;
    std::uint64_t seed = 1;
};

/// Where a session is, sent after every trial and every change of stage.
struct TuneProgress {
    std::string stage;  ///< "reference", "search", "finalists"
    std::int64_t trials_done = 0;
    std::int64_t trials_total = 0;
    std::optional<double> best_milliseconds;
    std::optional<double> reference_milliseconds;
    std::map<OutcomeKind, std::int64_t> failures;
    double seconds_used = 0;
    double seconds_limit = 0;
};

/// How a session ended.
struct TuneResult {
    Problem problem;
    std::string problem_name;
    double tolerance = 0;
    bool strict = false;
    std::string device;           ///< device key
    bool emulated = false;        ///< times are times of the emulation
    std::optional<Trial> winner;  ///< none when no candidate was valid
    std::optional<Trial> runner_up;
    std::vector<Trial> front;  ///< Pareto front of time against error, fastest first: see pareto_front
    std::optional<double> reference_milliseconds;
    Ceilings ceilings;
    double limit_milliseconds = 0;     ///< in the fastest arithmetic that the tolerance allows: see fastest_arithmetic
    std::int64_t trials_measured = 0;  ///< evaluated now
    std::int64_t trials_former = 0;    ///< of them, among the best with former kernels: proposed first
    std::int64_t trials_reused = 0;    ///< taken from the database
    std::map<OutcomeKind, std::int64_t> failures;
    double seconds = 0;
    StageSeconds stages;             ///< what the seconds went to
    double device_busy_seconds = 0;  ///< that the device was at work, as it counts them itself
    bool interrupted = false;        ///< asked to stop before it was done
    std::vector<std::string> warnings;
};

/// What a session works with; all outlive it.
struct TuneEnvironment {
    Evaluator& evaluator;
    Database* database = nullptr;  ///< null: nothing is kept (with a warning)
    const std::vector<SearchSpace>& spaces;
    int compile_threads = 0;  ///< 0: one per processor
};

/// Why a problem can be neither tuned nor measured on this device; empty when it can.
[[nodiscard]] std::string run_refusal(const Problem& problem, const DeviceInfo& device);

/// Tunes one problem: the file to read first. Every trial is stored as soon as it is known, so that a stop (or a crash)
/// keeps all trials measured so far. Throws Error(bad_input) when the problem is invalid or no family takes it.
[[nodiscard]] TuneResult tune(const TuneRequest& request, const TuneEnvironment& environment,
                              const std::function<void(const TuneProgress&)>& progress, std::stop_token stop);

}  // namespace tconv
