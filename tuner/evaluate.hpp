#pragma once

#include "core/outcome.hpp"
#include "device/device.hpp"
#include "tuner/builder.hpp"
#include "tuner/candidate.hpp"
#include "tuner/timer.hpp"
#include "tuner/validator.hpp"

namespace tconv {

/// What evaluation works with; all outlive it.
struct Bench {
    Device& device;
    Builder& builder;
    Validator& validator;
    Timer& timer;
};

/// Slower than the best by this factor in its first run: right or not, a candidate gets no second one.
inline constexpr double k_hopeless_factor = 2.5;

/// A candidate's outcome, and its machine code for whoever stores the winner.
struct Evaluation {
    Outcome outcome;
    CompiledCode code;
    double device_seconds = 0;  ///< spent validating and timing, with neither compiling nor loading
};

/// A loaded launch plan as something to validate and time; all three outlive it. Its other batch is one entry more, or
/// one less where the grid would be too large.
[[nodiscard]] Runnable runnable_plan(Device& device, Module& module, const LaunchPlan& plan, std::int64_t batch);

/// Compiles, checks resources, validates and times one candidate. A failure of any kind is an outcome with its reason,
/// never an exception.
[[nodiscard]] Evaluation evaluate(const Candidate& candidate, const Bench& bench);

}  // namespace tconv
