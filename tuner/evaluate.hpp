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
    MeasurementSeconds seconds;
    bool device_lost = false;  ///< the device answers no more
};

/// A loaded launch plan as something to validate and time; all three outlive it. Its other batch is one entry more, or
/// one less where the grid would be too large.
[[nodiscard]] Runnable runnable_plan(Device& device, Module& module, const LaunchPlan& plan, std::int64_t batch);

/// A candidate that can be measured, or what came of it where it cannot.
struct BuiltCandidate {
    Compiled compiled;
    Evaluation evaluation;  ///< without the measurement's part
    bool ready = false;     ///< to be measured
};

/// Checks a candidate's plan and compiles it. A failure is an outcome with its reason; Error(unavailable) as
/// `evaluate`.
[[nodiscard]] BuiltCandidate build_candidate(const Candidate& candidate, Evaluator& evaluator);

/// The whole evaluation of a candidate that has been measured.
[[nodiscard]] Evaluation with_measurement(BuiltCandidate built, Measurement measurement, const DeviceInfo& device);

/// Checks a candidate's plan, compiles it and has it measured. A failure of any kind is an outcome with its reason,
/// never an exception; Error(unavailable) only where the evaluator cannot work at all.
[[nodiscard]] Evaluation evaluate(const Candidate& candidate, Evaluator& evaluator);

}  // namespace tconv
