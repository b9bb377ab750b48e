#include "core/launch_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"

namespace tconv {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<ArgumentKind, const char*>, 7> k_argument_names{{
    {ArgumentKind::input, "input"},
    {ArgumentKind::weight, "weight"},
    {ArgumentKind::bias, "bias"},
    {ArgumentKind::output, "output"},
    {ArgumentKind::workspace, "workspace"},
    {ArgumentKind::batch, "batch"},
    {ArgumentKind::values, "values"},
}};

constexpr std::int64_t k_max_grid_x = 2147483647;
constexpr std::int64_t k_max_grid_yz = 65535;
constexpr std::int64_t k_max_batch_tile = 65536;
constexpr std::size_t k_max_arguments = 64;
constexpr std::size_t k_max_values = 256;  // a kernel takes 4 KiB of arguments at most; this is half of that

[[noreturn]] void reject(const std::string& sentence) {
    throw Error(ErrorKind::bad_input, sentence);
}

Json argument_to_json(const Argument& argument) {
    Json json;
    for (const auto& [kind, name] : k_argument_names) {
        if (kind == argument.kind) json["kind"] = name;
    }
    if (argument.kind == ArgumentKind::workspace) json["offset"] = argument.offset;
    if (argument.kind == ArgumentKind::values) json["values"] = argument.values;
    return json;
}

Argument argument_from_json(const Json& json) {
    Argument argument;
    const auto name = json.at("kind").get<std::string>();
    const auto* const found = std::find_if(k_argument_names.begin(), k_argument_names.end(),
                                           [&](const auto& entry) { return name == entry.second; });
    if (found == k_argument_names.end()) reject(fmt::format("launch plan has an unknown argument kind ({})", name));
    argument.kind = found->first;
    if (argument.kind == ArgumentKind::workspace) argument.offset = json.at("offset").get<std::int64_t>();
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
    for (const Json& argument : json.at("arguments"))
        launch.arguments.push_back(argument_from_json(argument));
    return launch;
}

std::int64_t grid_limit(std::size_t axis) {
    return axis == 0 ? k_max_grid_x : k_max_grid_yz;
}

std::int64_t batch_tiles(const Launch& launch, std::int64_t batch) {
    return batch / launch.batch_tile + (batch % launch.batch_tile != 0 ? 1 : 0);
}

void check_batch(const Launch& launch) {
    if (launch.batch_axis < -1 || launch.batch_axis > 2) {
        reject(fmt::format("batch_axis ({}) must be -1, 0, 1 or 2", launch.batch_axis));
    }
    const std::int64_t most = launch.batch_axis < 0 ? 1 : k_max_batch_tile;
    if (launch.batch_tile < 1 || launch.batch_tile > most) {
        reject(fmt::format("batch_tile of {} ({}) must be 1 to {} where batch_axis is {}", launch.kernel,
                           launch.batch_tile, most, launch.batch_axis));
    }
}

void check_geometry(const Launch& launch, std::int64_t batch, const DeviceInfo& device) {
    check_batch(launch);
    std::int64_t threads = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t limit = grid_limit(axis);
        std::int64_t grid = launch.grid[axis];
        if (grid < 1 || grid > limit) {
            reject(fmt::format("grid {} of {} ({}) must be 1 to {}", "xyz"[axis], launch.kernel, grid, limit));
        }
        if (launch.batch_axis == static_cast<int>(axis) &&
            (__builtin_mul_overflow(grid, batch_tiles(launch, std::max<std::int64_t>(batch, 1)), &grid) ||
             grid > limit)) {
            reject(fmt::format("grid {} of {} ({} for {} batch entries, batch {}) must be at most {}", "xyz"[axis],
                               launch.kernel, launch.grid[axis], launch.batch_tile, batch, limit));
        }
        const std::int64_t block_limit = axis == 2 ? 64 : 1024;
        if (launch.block[axis] < 1 || launch.block[axis] > block_limit) {
            reject(fmt::format("block {} of {} ({}) must be 1 to {}", "xyz"[axis], launch.kernel, launch.block[axis],
                               block_limit));
        }
        threads *= launch.block[axis];
    }
    if (threads > device.max_threads_per_block) {
        reject(fmt::format("threads a block of {} ({}) must be at most {} on {}", launch.kernel, threads,
                           device.max_threads_per_block, device.name));
    }
    if (launch.shared_bytes < 0 || launch.shared_bytes > device.shared_memory_per_block) {
        reject(fmt::format("shared memory of {} ({} bytes) must be at most {} on {}", launch.kernel,
                           launch.shared_bytes, device.shared_memory_per_block, device.name));
    }
}

void check_arguments(const Launch& launch, std::int64_t workspace) {
    if (launch.kernel.empty()) reject("a launch of the plan names no kernel");
    if (launch.arguments.empty() || launch.arguments.size() > k_max_arguments) {
        reject(fmt::format("{} ({} arguments) must take 1 to {}", launch.kernel, launch.arguments.size(),
                           k_max_arguments));
    }
    for (const Argument& argument : launch.arguments) {
        if (argument.kind == ArgumentKind::workspace && (argument.offset < 0 || argument.offset >= workspace)) {
            reject(fmt::format("workspace offset of {} ({}) must lie within the workspace ({} bytes)", launch.kernel,
                               argument.offset, workspace));
        }
        if (argument.kind == ArgumentKind::values &&
            (argument.values.empty() || argument.values.size() > k_max_values)) {
            reject(fmt::format("values argument of {} ({} values) must hold 1 to {}", launch.kernel,
                               argument.values.size(), k_max_values));
        }
    }
}

void check_alignment(const LaunchPlan& plan, DataType type) {
    const std::int64_t alignment = plan.alignment;
    const std::int64_t element = size_in_bytes(type);
    const bool power_of_two = alignment > 0 && (alignment & (alignment - 1)) == 0;
    if (!power_of_two || alignment < element || alignment > k_most_alignment) {
        reject(fmt::format("alignment ({} bytes) must be a power of two from {} to {}", alignment, element,
                           k_most_alignment));
    }
}

}  // namespace

std::string to_json(const LaunchPlan& plan) {
    Json json{{"source_file", plan.source_file},
              {"constants", plan.constants},
              {"workspace_bytes", plan.workspace_bytes},
              {"workspace_bytes_per_batch", plan.workspace_bytes_per_batch},
              {"alignment", plan.alignment},
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
        plan.alignment = json.value("alignment", k_default_alignment);
        for (const Json& launch : json.at("launches"))
            plan.launches.push_back(launch_from_json(launch));
        return plan;
    } catch (const Json::exception& error) {
        reject(fmt::format("launch plan cannot be read: {}", error.what()));
    }
}

void check_plan(const LaunchPlan& plan, const Problem& problem, const DeviceInfo& device,
                std::int64_t workspace_limit) {
    if (plan.launches.empty()) reject("launch plan has no launch");
    std::int64_t workspace = 0;
    if (plan.workspace_bytes < 0 || plan.workspace_bytes_per_batch < 0 ||
        __builtin_mul_overflow(plan.workspace_bytes_per_batch, problem.batch, &workspace) ||
        __builtin_add_overflow(workspace, plan.workspace_bytes, &workspace) || workspace > workspace_limit) {
        reject(fmt::format("workspace ({} bytes + {} a batch entry, batch {}) must be 0 to {} bytes",
                           plan.workspace_bytes, plan.workspace_bytes_per_batch, problem.batch, workspace_limit));
    }
    check_alignment(plan, problem.dtype);
    bool writes_output = false;
    for (const Launch& launch : plan.launches) {
        check_geometry(launch, problem.batch, device);
        check_arguments(launch, workspace);
        for (const Argument& argument : launch.arguments)
            writes_output |= argument.kind == ArgumentKind::output;
    }
    if (!writes_output) reject("launch plan has no launch that takes the output");
}

std::vector<std::string> kernel_names(const LaunchPlan& plan) {
    std::vector<std::string> names;
    for (const Launch& launch : plan.launches)
        names.push_back(launch.kernel);
    return names;
}

std::array<std::int64_t, 3> grid_for(const Launch& launch, std::int64_t batch) {
    std::array<std::int64_t, 3> grid = launch.grid;
    if (launch.batch_axis >= 0) grid[static_cast<std::size_t>(launch.batch_axis)] *= batch_tiles(launch, batch);
    return grid;
}

std::int64_t workspace_for(const LaunchPlan& plan, std::int64_t batch) {
    return plan.workspace_bytes + plan.workspace_bytes_per_batch * batch;
}

std::int64_t workspace_alignment(const LaunchPlan& plan) {
    return std::max(plan.alignment, k_default_alignment);
}

bool serves_batch(const LaunchPlan& plan, std::int64_t batch) {
    return std::all_of(plan.launches.begin(), plan.launches.end(), [&](const Launch& launch) {
        const auto axis = static_cast<std::size_t>(launch.batch_axis);
        return launch.batch_axis < 0 || batch_tiles(launch, batch) <= grid_limit(axis) / launch.grid[axis];
    });
}

}  // namespace tconv
