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

/// A candidate's outcome, and its machine code for whoever stores the winner.
struct Evaluation {
    Outcome outcome;
    CompiledCode code;
};

/// Compiles, checks resources, validates and times one candidate. A failure of any kind is an outcome with its reason,
/// never an exception.
[[nodiscard]] Evaluation evaluate(const Candidate& candidate, const Bench& bench);

}  // namespace tconv
