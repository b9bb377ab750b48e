#pragma once

#include <string>

#include "bench/compare.hpp"
#include "bench/run.hpp"

namespace tconv {

/// The run for a terminal: versions and ceilings, one line a layer and mode with those where tconv is slower first,
/// geometric means by group, mode and layout, warnings. Ends with a newline.
[[nodiscard]] std::string bench_report(const BenchRun& run);

/// What became slower and what faster, for a terminal. Ends with a newline.
[[nodiscard]] std::string comparison_report(const RunComparison& comparison, const BenchRun& before);

}  // namespace tconv
