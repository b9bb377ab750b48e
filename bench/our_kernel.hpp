#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "cache/database.hpp"
#include "core/launch_plan.hpp"
#include "tuner/laboratory.hpp"
#include "tuner/search_space.hpp"

namespace tconv {

/// The kernel that tconv serves for a problem, loaded.
struct OurKernel {
    std::unique_ptr<Module> module;
    LaunchPlan plan;
    std::string family;  ///< "direct"; "reference" on the last rung
    std::string rung;    ///< "exact", "stale" (its template has changed since) or "reference"
    Config config;
};

/// Where kernels come from; all outlive it.
struct KernelSource {
    Laboratory& laboratory;
    Database* database;  ///< may be null
    const std::vector<SearchSpace>& spaces;
    std::uint64_t seed = 1;
    double tune_seconds = 0;        ///< for a problem that has no winner; 0: none is tuned
    bool weights_prepared = false;  ///< measure calls whose weights were packed before; winners are the same
};

/// The stored winner within `tolerance`; a problem without one is tuned first where a family takes it; the reference
/// kernel otherwise. Throws Error(device), Error(compile).
[[nodiscard]] OurKernel find_our_kernel(const Problem& problem, const std::string& name, double tolerance,
                                        const KernelSource& source, const std::stop_token& stop);

}  // namespace tconv
