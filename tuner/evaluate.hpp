#pragma once

#include "tuner/evaluator.hpp"
#include "tuner/runnable.hpp"

namespace tconv {

/// Slower than the best by this factor in its first run: right or not, a candidate gets no second one.
inline constexpr double k_hopeless_factor = 2.5;

/// A candidate's outcome, and its machine code for whoever stores the winner.
struct Evaluation {
    Outcome outcome;
    CompiledCode code;
    double device_seconds = 0;  ///< spent validating and timing, with neither compiling nor loading
    bool device_lost = false;   ///< the device answers no more
};

/// A loaded launch plan as something to validate and time; all three outlive it. Its other batch is one entry more, or
/// one less where the grid would be too large.
[[nodiscard]] Runnable runnable_plan(Device& device, Module& module, const LaunchPlan& plan, std::int64_t batch);

/// Checks a candidate's plan, compiles it and has it measured. A failure of any kind is an outcome with its reason,
/// never an exception; Error(unavailable) only where the evaluator cannot work at all.
[[nodiscard]] Evaluation evaluate(const Candidate& candidate, Evaluator& evaluator);

}  // namespace tconv
