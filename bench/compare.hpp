#pragma once

#include <string>
#include <vector>

#include "bench/run.hpp"

namespace tconv {

/// How one layer's time changed from one run to another.
struct Change {
    std::string layer;
    std::string problem;  ///< key
    Mode mode = Mode::fp32;
    bool peer = false;  ///< the peer's time, not tconv's
    double old_milliseconds = 0;
    double new_milliseconds = 0;
    double noise = 0;  ///< relative change that can be chance
};

/// What two runs have in common, and what changed in it beyond noise.
struct RunComparison {
    std::vector<Change> slower;  ///< the largest change first
    std::vector<Change> faster;
    std::int64_t unchanged = 0;
    std::vector<std::string> only_old;  ///< "seed3d fp32 nchw"
    std::vector<std::string> only_new;
    std::vector<std::string> warnings;  ///< the device or a version differs
};

/// Compares results of the same problem and mode. Chance is three standard errors of the two medians (from their
/// spreads and sample counts, as for normal samples), and never below 2 %: so far do two runs on one card differ.
[[nodiscard]] RunComparison compare_runs(const BenchRun& before, const BenchRun& after);

}  // namespace tconv
