#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "device/driver/nvml.hpp"

namespace tconv {
namespace {

void warn_of_processes(int count, std::vector<std::string>& warnings) {
    if (count == 1) warnings.emplace_back("another process uses the GPU");
    if (count > 1) warnings.push_back(fmt::format("{} other processes use the GPU", count));
}

void warn_of_clock(const char* name, int before, int after, std::vector<std::string>& warnings) {
    if (before <= 0 || after <= 0) return;
    if (std::abs(after - before) <= k_clock_movement * std::max(before, after)) return;
    warnings.push_back(fmt::format("the {} clock moved from {} to {} MHz", name, before, after));
}

bool slowed_between(double before, double after) {
    return before >= 0 && after >= 0 && after - before >= k_slowdown_milliseconds;
}

/// What slowed the GPU at either moment, or long enough in between.
std::vector<std::string> slowdowns(const GpuConditions& before, const GpuConditions& after) {
    std::vector<std::string> names = before.throttle_reasons;
    const auto add = [&](const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const std::string& name : after.throttle_reasons)
        add(name);
    if (slowed_between(before.power_capped_milliseconds, after.power_capped_milliseconds)) add("power cap");
    if (slowed_between(before.heat_slowed_milliseconds, after.heat_slowed_milliseconds)) add("temperature");
    return names;
}

}  // namespace

std::vector<std::string> condition_warnings(const GpuConditions& before, const GpuConditions& after) {
    std::vector<std::string> warnings;
    warn_of_processes(std::max(before.other_processes, after.other_processes), warnings);
    if (!before.idle && !after.idle) {
        warn_of_clock("SM", before.sm_mhz, after.sm_mhz, warnings);
        warn_of_clock("memory", before.memory_mhz, after.memory_mhz, warnings);
    }
    if (const auto names = slowdowns(before, after); !names.empty())
        warnings.push_back(fmt::format("the GPU was slowed down ({})", fmt::join(names, "; ")));
    return warnings;
}

}  // namespace tconv
