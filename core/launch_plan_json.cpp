#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/launch_plan.hpp"

namespace tconv {
namespace {

using Json = nlohmann::json;

bool has_offset(ArgumentKind kind) {
    return kind == ArgumentKind::workspace || kind == ArgumentKind::packed_weight || kind == ArgumentKind::tensor_map;
}

ArgumentKind kind_from_json(const Json& json) {
    const auto name = json.get<std::string>();
    const std::optional<ArgumentKind> kind = argument_kind_named(name);
    if (!kind) reject(fmt::format("launch plan has an unknown argument kind ({})", name));
    return *kind;
}

Json map_to_json(const TensorMap& map, ArgumentKind mapped) {
    return {{"of", to_string(mapped)},
            {"element", to_string(map.element)},
            {"extents", map.extents},
            {"strides", map.strides},
            {"box", map.box},
            {"swizzle", map.swizzle},
            {"batch_dimension", map.batch_dimension},
            {"l2_promotion", map.l2_promotion}};
}

TensorMap map_from_json(const Json& json) {
    TensorMap map;
    map.element = parse_map_element(json.at("element").get<std::string>());
    map.extents = json.at("extents").get<std::vector<std::int64_t>>();
    map.strides = json.at("strides").get<std::vector<std::int64_t>>();
    map.box = json.at("box").get<std::vector<std::int64_t>>();
    map.swizzle = json.at("swizzle").get<std::int64_t>();
    map.batch_dimension = json.at("batch_dimension").get<int>();
    map.l2_promotion = json.at("l2_promotion").get<std::int64_t>();
    return map;
}

Json argument_to_json(const Argument& argument) {
    Json json{{"kind", to_string(argument.kind)}};
    if (argument.kind == ArgumentKind::tensor_map) json["map"] = map_to_json(argument.map, argument.mapped);
    if (has_offset(argument.kind)) json["offset"] = argument.offset;
    if (argument.kind == ArgumentKind::values) json["values"] = argument.values;
    return json;
}

Argument argument_from_json(const Json& json) {
    Argument argument;
    argument.kind = kind_from_json(json.at("kind"));
    if (argument.kind == ArgumentKind::tensor_map) {
        argument.map = map_from_json(json.at("map"));
        argument.mapped = kind_from_json(json.at("map").at("of"));
    }
    if (has_offset(argument.kind)) argument.offset = json.at("offset").get<std::int64_t>();
    if (argument.kind == ArgumentKind::values) argument.values = json.at("values").get<std::vector<std::int64_t>>();
    return argument;
}

Launch launch_from_json(const Json& json) {
    Launch launch;
    launch.kernel = json.at("kernel").get<std::string>();
    launch.grid = json.at("grid").get<std::array<std::int64_t, 3>>();
    launch.block = json.at("block").get<std::array<std::int64_t, 3>>();
    launch.batch_axis = json.at("batch_axis").get<int>();
    launch.batch_tile = json.value("batch_tile", std::int64_t{1});
    launch.shared_bytes = json.at("shared_bytes").get<std::int64_t>();
    launch.weights_only = json.value("weights_only", false);
    launch.overlaps = json.value("overlaps", false);
    launch.cluster = json.value("cluster", std::int64_t{1});
    for (const Json& argument : json.at("arguments"))
        launch.arguments.push_back(argument_from_json(argument));
    return launch;
}

}  // namespace

std::string to_json(const LaunchPlan& plan) {
    Json json{{"source_file", plan.source_file},
              {"constants", plan.constants},
              {"workspace_bytes", plan.workspace_bytes},
              {"workspace_bytes_per_batch", plan.workspace_bytes_per_batch},
              {"workspace_batch_tile", plan.workspace_batch_tile},
              {"packed_weight_bytes", plan.packed_weight_bytes},
              {"alignment", plan.alignment},
              {"exact_on_integers", plan.exact_on_integers},
              {"launches", Json::array()}};
    for (const Launch& launch : plan.launches) {
        Json arguments = Json::array();
        for (const Argument& argument : launch.arguments)
            arguments.push_back(argument_to_json(argument));
        json["launches"].push_back({{"kernel", launch.kernel},
                                    {"grid", launch.grid},
                                    {"block", launch.block},
                                    {"batch_axis", launch.batch_axis},
                                    {"batch_tile", launch.batch_tile},
                                    {"shared_bytes", launch.shared_bytes},
                                    {"weights_only", launch.weights_only},
                                    {"overlaps", launch.overlaps},
                                    {"cluster", launch.cluster},
                                    {"arguments", arguments}});
    }
    return json.dump();
}

LaunchPlan launch_plan_from_json(const std::string& text) {
    try {
        const Json json = Json::parse(text);
        LaunchPlan plan;
        plan.source_file = json.at("source_file").get<std::string>();
        plan.constants = config_from_json(json.at("constants").dump());
        plan.workspace_bytes = json.at("workspace_bytes").get<std::int64_t>();
        plan.workspace_bytes_per_batch = json.at("workspace_bytes_per_batch").get<std::int64_t>();
        plan.workspace_batch_tile = json.value("workspace_batch_tile", std::int64_t{1});
        plan.packed_weight_bytes = json.value("packed_weight_bytes", std::int64_t{0});
        plan.alignment = json.value("alignment", k_default_alignment);
        plan.exact_on_integers = json.value("exact_on_integers", true);
        for (const Json& launch : json.at("launches"))
            plan.launches.push_back(launch_from_json(launch));
        return plan;
    } catch (const Json::exception& error) {
        reject(fmt::format("launch plan cannot be read: {}", error.what()));
    }
}

}  // namespace tconv
