#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/layer_choice.hpp"
#include "tuner/session.hpp"
#include "tuner/workers/worker.hpp"

namespace tconv {

/// The flags of `tconv tune`, as typed.
struct TuneOptions {
    LayerChoice layers;
    std::optional<std::string> tolerance;
    bool strict = false;
    std::string device = "auto";
    std::string trials = "200";
    std::string time_limit = "60s";
    std::string seed = "1";
    std::string compile_limit = "2m";
    std::string run_limit = "10s";
    std::string validation_limit = "2m";
    std::string memory_limit = "16384";  ///< MiB a worker
    std::string device_memory_limit;     ///< MiB; empty: nine tenths of the device's
    bool in_process = false;
    std::string database;
    bool json = false;
};

/// Declares the flags on a subcommand; `options` must outlive it.
void add_tune_options(CLI::App& command, TuneOptions& options);

/// The limits of a candidate. Throws Error(bad_input).
[[nodiscard]] WorkerLimits worker_limits(const TuneOptions& options);

/// One request for the problem of the flags, or one for each layer picked. Throws Error(bad_input).
[[nodiscard]] std::vector<TuneRequest> make_requests(const TuneOptions& options);

}  // namespace tconv
