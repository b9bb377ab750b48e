#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "cache/database.hpp"
#include "core/device_info.hpp"
#include "core/problem.hpp"
#include "device/compiler.hpp"
#include "tuner/search_space.hpp"

namespace tconv {

/// Which candidates of a problem to compile.
struct PrecompileRequest {
    Problem problem;
    double tolerance = -1;        ///< of the session to come; negative: the dtype's default
    std::int64_t candidates = 0;  ///< at most, beside the stored trials
    std::uint64_t seed = 1;       ///< of the session to come
    bool strict = false;          ///< the session to come takes plain fp32 arithmetic alone
};

/// What became of them.
struct PrecompileResult {
    std::int64_t candidates = 0;
    std::int64_t compiled = 0;
    std::int64_t found = 0;  ///< in the code cache, or the same text as another candidate's
    std::int64_t refused = 0;
    double seconds = 0;
    std::vector<std::string> warnings;  ///< of stored trials that could not be read
};

/// Fills the code cache for a device that need not be here, with what a tuning session of the same seed on that device
/// will ask for.
class Precompiler {
public:
    /// All outlive the object. `database` may be null. `threads` 0: one per processor.
    Precompiler(Compiler& compiler, const DeviceInfo& device, const std::vector<SearchSpace>& spaces,
                Database* database, int threads);
    Precompiler(const Precompiler&) = delete;
    Precompiler& operator=(const Precompiler&) = delete;
    ~Precompiler();

    /// The kernels that need no config: reference, validation, ceilings. Throws Error(compile) with the log.
    PrecompileResult compile_fixed();

    /// The candidates that a session proposes first, given the trials of this problem and device that the database
    /// holds. Sessions climb by what they measure, so that their proposals are these ones up to the first climb, and
    /// among these ones round the best stored trials. `progress` gets the candidates done so far. A stop ends it after
    /// what is being compiled. Throws Error(bad_input) when no family takes the problem.
    PrecompileResult compile(const PrecompileRequest& request, const std::function<void(std::int64_t)>& progress,
                             const std::stop_token& stop);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tconv
