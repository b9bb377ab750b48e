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
    double tune_seconds = 0;        ///< for a problem that was not tuned; 0: none is
    bool weights_prepared = false;  ///< measure calls whose weights were packed before; winners are the same
};

/// What a kernel is wanted for.
struct KernelWish {
    Problem problem;
    std::string name;  ///< the layer's
    double tolerance = 0;
    bool strict = false;  ///< in plain fp32 arithmetic alone
};

/// The stored winner. Where there is none, or a family has defaults within this accuracy that were never tried, the
/// problem is tuned for it first: a strict winner says nothing of what a looser tolerance allows. Else the reference
/// kernel. Throws Error(device), Error(compile).
[[nodiscard]] OurKernel find_our_kernel(const KernelWish& wish, const KernelSource& source,
                                        const std::stop_token& stop);

}  // namespace tconv
