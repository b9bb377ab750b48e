#include "runtime/plan_safety.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "kernel_sources/sources.hpp"

namespace tconv {
namespace {

bool is_identifier(const std::string& name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return !name.empty() && letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

void require_identifier(const std::string& name, const char* what) {
    if (!is_identifier(name))
        throw Error(ErrorKind::bad_input, fmt::format("{} ({}) must be an identifier", what, name));
}

bool is_embedded(const std::string& file) {
    const std::vector<std::string> names = kernel_source_names();
    return std::find(names.begin(), names.end(), file) != names.end();
}

}  // namespace

void check_stored(const Trial& trial, const Problem& problem, const DeviceInfo& device) {
    const LaunchPlan& plan = trial.outcome.plan;
    check_plan(plan, problem, device);
    // Machine code needs no source, so a template that this build no longer has can still be served on CUDA.
    if (device.kind == DeviceKind::emulator && !is_embedded(plan.source_file)) {
        throw Error(ErrorKind::bad_input,
                    fmt::format("source_file ({}) is none of this build's kernels", plan.source_file));
    }
    for (const auto& [name, value] : trial.config)
        require_identifier(name, "parameter");
    for (const auto& [name, value] : plan.constants)
        require_identifier(name, "constant");
    for (const Launch& launch : plan.launches)
        require_identifier(launch.kernel, "kernel");
}

bool is_stale(const Trial& trial) {
    const std::string& file = trial.outcome.plan.source_file;
    return !is_embedded(file) || template_hash(file) != trial.template_hash;
}

}  // namespace tconv
