#pragma once

#include <cstdint>
#include <vector>

#include "cache/database.hpp"
#include "core/outcome.hpp"
#include "tuner/builder.hpp"
#include "tuner/candidate.hpp"

namespace tconv {

/// What a session learns of a problem before it tries anything.
struct Preparation {
    Ceilings ceilings;
    double reference_milliseconds = 0;  ///< one sample of the reference kernel
};

/// Where the time of a candidate went, in seconds.
struct MeasurementSeconds {
    double loading = 0;
    double validating = 0;
    double timing = 0;
};

/// What came of running one candidate.
struct Measurement {
    Outcome outcome;  ///< all but the compilation's part
    MeasurementSeconds seconds;
    bool device_lost = false;  ///< the device answers no more
};

/// A candidate with its machine code.
struct Compiled {
    Candidate candidate;
    CompiledCode code;
};

/// Where candidates run: in this process (LocalEvaluator), or in one of its own that a candidate can take down without
/// harm (WorkerEvaluator).
class Evaluator {
public:
    Evaluator() = default;
    Evaluator(const Evaluator&) = delete;
    Evaluator& operator=(const Evaluator&) = delete;
    virtual ~Evaluator() = default;

    [[nodiscard]] virtual const DeviceInfo& device() const = 0;
    /// Compiles for that device.
    [[nodiscard]] virtual Builder& builder() = 0;

    /// Makes inputs for a problem, to which all that follows belongs. Throws Error(device) or Error(compile).
    [[nodiscard]] virtual Preparation prepare(const Problem& problem, std::uint64_t seed) = 0;

    /// Loads, validates and times. A candidate's failure of any kind is an outcome, never an exception;
    /// Error(unavailable) where there is nothing any more to run it.
    [[nodiscard]] virtual Measurement measure(const Compiled& candidate) = 0;

    /// Times several validated candidates in turn, at most `rounds` rounds and, from three rounds on, `seconds`. One
    /// timing each; none at all where one of them failed. Throws Error(unavailable) as `measure`.
    [[nodiscard]] virtual std::vector<Timing> time_in_turn(const std::vector<Compiled>& candidates, int rounds,
                                                           double seconds) = 0;

    /// Seconds that the device has been at work for this object so far, as the device counts them; what a candidate
    /// that took its process down had of it is not known.
    [[nodiscard]] virtual double device_seconds() const = 0;
};

}  // namespace tconv
