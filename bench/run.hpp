#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/mode.hpp"
#include "cache/database.hpp"
#include "core/config.hpp"
#include "core/outcome.hpp"
#include "core/problem.hpp"
#include "device/driver/nvml.hpp"

namespace tconv {

/// One side of a comparison, as measured.
struct Contestant {
    std::string description;  ///< "direct", "engine 38, nchw": what computed it
    Timing timing;
    double error = 0;  ///< largest over all inputs, by the project's error measure
    // Of tconv's side alone.
    std::string rung;  ///< how its kernel was found: "exact", "reference"
    Config config;
    // Of a peer's side alone.
    std::int64_t offered = 0;  ///< ways that it offers for this problem and precision
    std::int64_t failed = 0;   ///< of these, those that could not be built or run, or were wrong
    std::int64_t workspace_bytes = 0;
    std::string refused;  ///< the fastest of those that were wrong, how fast and why; empty: none was
};

/// One layer in one mode and layout.
struct BenchResult {
    std::string layer;
    std::string group;
    Problem problem;
    Mode mode = Mode::fp32;
    double tolerance = 0;
    double limit_milliseconds = 0;  ///< max(bytes / bandwidth, flops / rate), not below an empty launch; 0: unknown
    std::optional<Contestant> ours;
    std::string ours_reason;  ///< a sentence where there is none
    std::optional<Contestant> peer;
    std::string peer_reason;
    GpuConditions before;
    GpuConditions after;
    std::vector<std::string> warnings;
};

/// A whole run: everything that is needed to draw it again.
struct BenchRun {
    std::string tconv_version;
    std::string started;  ///< UTC, ISO 8601
    std::string command;
    bool emulated = false;
    std::string device_key;
    std::string device_name;
    std::string driver_version;  ///< of CUDA: "13.0"
    std::string driver_package;  ///< "580.159.04"; may be empty
    std::string compiler_version;
    std::string peer_version;  ///< "9.19.0"; empty without the peer
    std::string peer_path;
    std::string peer_reason;  ///< a sentence where the peer is not there
    std::uint64_t seed = 1;
    /// tconv's packed weights are made once before the timing, not in each call: times of another kind.
    bool weights_prepared = false;
    Ceilings ceilings;
    std::vector<BenchResult> results;
    std::vector<std::string> warnings;
};

/// How many times faster tconv is; none unless both sides were measured.
[[nodiscard]] std::optional<double> speed_up(const BenchResult& result);

/// Share of the limit that a contestant reaches, 0 where the limit is unknown.
[[nodiscard]] double share_of_limit(const BenchResult& result, const Contestant& contestant);

}  // namespace tconv
