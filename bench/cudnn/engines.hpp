#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/cudnn/descriptor.hpp"
#include "bench/cudnn/graph.hpp"
#include "bench/cudnn/notes.hpp"

namespace tconv::cudnn {

/// How the library is asked for engines: its quick guess, its better model, and those that nearly always work.
enum class Heuristics { quick, model, fallback };
inline constexpr std::array<Heuristics, 3> k_heuristics{Heuristics::quick, Heuristics::model, Heuristics::fallback};
[[nodiscard]] const char* to_string(Heuristics heuristics);

/// An engine with its settings.
struct EngineConfig {
    std::shared_ptr<Descriptor> config;
    std::int64_t engine = 0;                                      ///< the library's number
    std::vector<std::pair<std::int64_t, std::int64_t>> settings;  ///< kind and value, by kind
    Notes notes;
};

/// "engine 38 (2=0 13=32)": engine and settings, which together say what is computed and how.
[[nodiscard]] std::string name_of(const EngineConfig& config);

/// What the heuristics propose, best first. `device_properties` may be null: that of the current device. Throws
/// Error(device) where the library refuses.
[[nodiscard]] std::vector<EngineConfig> engine_configs(const Library& library, const Graph& graph,
                                                       Heuristics heuristics, const Descriptor* device_properties);

/// Every engine of the library that accepts the graph, with its default settings.
[[nodiscard]] std::vector<EngineConfig> default_configs(const Library& library, const Graph& graph,
                                                        const Descriptor* device_properties);

/// A device by the library's JSON description of it, for asking the heuristics without a device. Throws Error(device),
/// also where the library or the headers are older than 9.8.
[[nodiscard]] Descriptor device_properties(const Library& library, const std::string& json);

}  // namespace tconv::cudnn
