#include "bench/cudnn/engines.hpp"

#include <cudnn_graph.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace tconv::cudnn {
namespace {

// More settings than any engine has: the library does not say beforehand how many there are, and cudnn.h counts the
// kinds of its own version, where the library may be newer.
constexpr std::int64_t k_most_settings = 128;
constexpr std::int64_t k_most_notes = 64;

cudnnBackendHeurMode_t mode_of(Heuristics heuristics) {
    switch (heuristics) {
        case Heuristics::model:
            return CUDNN_HEUR_MODE_B;
        case Heuristics::fallback:
            return CUDNN_HEUR_MODE_FALLBACK;
        case Heuristics::quick:
            break;
    }
    return CUDNN_HEUR_MODE_A;
}

Notes notes_of(const Descriptor& engine) {
    Notes notes;
    for (const auto note : engine.get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                                   CUDNN_TYPE_NUMERICAL_NOTE, k_most_notes)) {
        notes.tensor_core |= note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
        notes.converts_inputs_down |= note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
        notes.reduces_in_low_precision |= note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
        notes.nondeterministic |= note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    }
    return notes;
}

std::vector<std::pair<std::int64_t, std::int64_t>> settings_of(const Descriptor& config) {
    std::vector<std::pair<std::int64_t, std::int64_t>> settings;
    for (const Descriptor& choice : config.get_descriptors(
             CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, k_most_settings, "setting")) {
        const auto kind = choice.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1);
        const auto value = choice.get<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1);
        if (!kind.empty() && !value.empty()) settings.emplace_back(kind.front(), value.front());
    }
    std::sort(settings.begin(), settings.end());
    return settings;
}

EngineConfig inspected(Descriptor&& descriptor) {
    EngineConfig config;
    config.config = std::make_shared<Descriptor>(std::move(descriptor));
    const auto engines =
        config.config->get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1, "engine");
    if (engines.empty()) throw Error(ErrorKind::device, "cuDNN lists an engine configuration without an engine");
    for (const std::int64_t number :
         engines.front().get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1))
        config.engine = number;
    config.notes = notes_of(engines.front());
    config.settings = settings_of(*config.config);
    return config;
}

#if CUDNN_VERSION >= 90800
constexpr int k_device_of_heuristics = CUDNN_ATTR_ENGINEHEUR_DEVICEPROP;
constexpr int k_device_of_engine = CUDNN_ATTR_ENGINE_DEVICEPROP;
#else
// Never set: `device_properties` makes none.
constexpr int k_device_of_heuristics = 0;
constexpr int k_device_of_engine = 0;
#endif

void set_device(Descriptor& descriptor, int attribute, const Descriptor* device) {
    if (device != nullptr) descriptor.set(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, *device);
}

}  // namespace

const char* to_string(Heuristics heuristics) {
    switch (heuristics) {
        case Heuristics::model:
            return "heuristics B";
        case Heuristics::fallback:
            return "fallback";
        case Heuristics::quick:
            break;
    }
    return "heuristics A";
}

std::string name_of(const EngineConfig& config) {
    std::string name = fmt::format("engine {}", config.engine);
    if (config.settings.empty()) return name;
    name += " (";
    for (const auto& [kind, value] : config.settings)
        name += fmt::format("{}{}={}", name.back() == '(' ? "" : " ", kind, value);
    return name + ")";
}

std::vector<EngineConfig> engine_configs(const Library& library, const Graph& graph, Heuristics heuristics,
                                         const Descriptor* device) {
    Descriptor question(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, to_string(heuristics));
    question.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph.graph);
    question.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode_of(heuristics));
    set_device(question, k_device_of_heuristics, device);
    question.finalize();
    const std::int64_t count = question.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
    std::vector<EngineConfig> configs;
    for (Descriptor& found : question.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                                      count, "configuration"))
        configs.push_back(inspected(std::move(found)));
    return configs;
}

std::vector<EngineConfig> default_configs(const Library& library, const Graph& graph, const Descriptor* device) {
    std::vector<EngineConfig> configs;
    const auto counts =
        graph.graph.get<std::int64_t>(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1);
    const std::int64_t count = counts.empty() ? 0 : counts.front();
    for (std::int64_t number = 0; number < count; ++number) {
        try {
            Descriptor engine(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR, "engine");
            engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph.graph);
            engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, number);
            set_device(engine, k_device_of_engine, device);
            engine.finalize();
            Descriptor config(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "configuration");
            config.set(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, engine);
            config.finalize();
            configs.push_back(inspected(std::move(config)));
        } catch (const Error&) {
            // Most engines do not take most graphs: that is the answer, not a failure.
        }
    }
    return configs;
}

Descriptor device_properties(const Library& library, const std::string& json) {
#if CUDNN_VERSION >= 90800
    Descriptor properties(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device properties");
    properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   std::vector<char>(json.begin(), json.end()));
    properties.finalize();
    return properties;
#else
    (void)library;
    (void)json;
    throw Error(ErrorKind::device, "cuDNN describes devices from version 9.8 on");
#endif
}

}  // namespace tconv::cudnn
