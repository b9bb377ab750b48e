#include "bench/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tuner/timer.hpp"

namespace tconv {
namespace {

constexpr double k_least_noise = 0.02;
constexpr double k_standard_errors = 3;

using Place = std::pair<std::string, Mode>;

std::map<Place, const BenchResult*> by_place(const BenchRun& run) {
    std::map<Place, const BenchResult*> results;
    for (const BenchResult& result : run.results)
        results[{key(result.problem), result.mode}] = &result;
    return results;
}

std::string label(const BenchResult& result) {
    return fmt::format("{} {} {}", result.layer, to_string(result.mode), to_string(result.problem.layout));
}

void add_change(RunComparison& comparison, const BenchResult& result, bool peer, const Timing& before,
                const Timing& after) {
    Change change;
    change.layer = result.layer;
    change.problem = key(result.problem);
    change.mode = result.mode;
    change.peer = peer;
    change.old_milliseconds = before.median;
    change.new_milliseconds = after.median;
    change.noise = std::max(k_least_noise, k_standard_errors * std::hypot(relative_error_of_median(before),
                                                                          relative_error_of_median(after)));
    const double ratio = after.median / before.median;
    if (ratio > 1 + change.noise) {
        comparison.slower.push_back(change);
    } else if (ratio < 1 / (1 + change.noise)) {
        comparison.faster.push_back(change);
    } else {
        ++comparison.unchanged;
    }
}

void note_difference(RunComparison& comparison, const char* what, const std::string& before, const std::string& after) {
    if (before != after)
        comparison.warnings.push_back(fmt::format("the {} differs: {} before, {} now", what,
                                                  before.empty() ? "none" : before, after.empty() ? "none" : after));
}

}  // namespace

RunComparison compare_runs(const BenchRun& before, const BenchRun& after) {
    RunComparison comparison;
    note_difference(comparison, "device", before.device_key, after.device_key);
    note_difference(comparison, "driver", before.driver_version, after.driver_version);
    note_difference(comparison, "compiler", before.compiler_version, after.compiler_version);
    note_difference(comparison, "peer's version", before.peer_version, after.peer_version);
    if (before.weights_prepared != after.weights_prepared)
        comparison.warnings.emplace_back(
            "tconv's times are not compared: only one of the runs has its weights packed before the calls");
    const auto old_results = by_place(before);
    const auto new_results = by_place(after);
    for (const auto& [place, result] : new_results) {
        const auto found = old_results.find(place);
        if (found == old_results.end()) {
            comparison.only_new.push_back(label(*result));
            continue;
        }
        const BenchResult& old = *found->second;
        if (old.ours && result->ours && before.weights_prepared == after.weights_prepared)
            add_change(comparison, *result, false, old.ours->timing, result->ours->timing);
        if (old.peer && result->peer) add_change(comparison, *result, true, old.peer->timing, result->peer->timing);
    }
    for (const auto& [place, result] : old_results) {
        if (!new_results.contains(place)) comparison.only_old.push_back(label(*result));
    }
    const auto ratio = [](const Change& c) { return c.new_milliseconds / c.old_milliseconds; };
    std::sort(comparison.slower.begin(), comparison.slower.end(),
              [&](const Change& a, const Change& b) { return ratio(a) > ratio(b); });
    std::sort(comparison.faster.begin(), comparison.faster.end(),
              [&](const Change& a, const Change& b) { return ratio(a) < ratio(b); });
    return comparison;
}

}  // namespace tconv
