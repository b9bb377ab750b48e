#pragma once

#include <chrono>

#include "tuner/evaluator.hpp"

namespace tconv {

/// Where a session's wall time went, in seconds: the stages add up to all of it. What goes on while a candidate is on
/// the device costs nothing; the device waits for proposals or compilations where none is.
struct StageSeconds {
    double preparing = 0;     ///< inputs, reference results, the device's ceilings
    double proposing = 0;     ///< waiting for the search
    double compiling = 0;     ///< waiting for machine code
    double handing_over = 0;  ///< candidates to where they run, and what came of them back
    double loading = 0;
    double validating = 0;
    double timing = 0;
    double finalists = 0;
    double other = 0;
};

/// Calls `visit(name, member)` for every stage.
template <class Seconds, class Visitor>
void visit_stages(Seconds& seconds, Visitor&& visit) {
    visit("preparing", seconds.preparing);
    visit("proposing", seconds.proposing);
    visit("compiling", seconds.compiling);
    visit("handing_over", seconds.handing_over);
    visit("loading", seconds.loading);
    visit("validating", seconds.validating);
    visit("timing", seconds.timing);
    visit("finalists", seconds.finalists);
    visit("other", seconds.other);
}

/// Charges the time that passes to one stage after another.
class StageClock {
public:
    using Stage = double StageSeconds::*;
    using Clock = std::chrono::steady_clock;

    /// What follows belongs to `stage`.
    void enter(Stage stage) {
        const Clock::time_point now = Clock::now();
        seconds_.*stage_ += std::chrono::duration<double>(now - since_).count();
        since_ = now;
        stage_ = stage;
    }

    /// What the last stage, that of a candidate on the device, was spent with is known better.
    void divide(Stage stage, const MeasurementSeconds& parts) {
        seconds_.*stage -= parts.loading + parts.validating + parts.timing;
        seconds_.loading += parts.loading;
        seconds_.validating += parts.validating;
        seconds_.timing += parts.timing;
    }

    [[nodiscard]] const StageSeconds& seconds() const { return seconds_; }

private:
    StageSeconds seconds_;
    Stage stage_ = &StageSeconds::other;
    Clock::time_point since_ = Clock::now();
};

}  // namespace tconv
