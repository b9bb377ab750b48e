#include "core/launch_plan.hpp"

#include <algorithm>
#include <utility>

namespace tconv {
namespace {

constexpr std::array<std::pair<ArgumentKind, std::string_view>, 9> k_argument_names{{
    {ArgumentKind::input, "input"},
    {ArgumentKind::weight, "weight"},
    {ArgumentKind::bias, "bias"},
    {ArgumentKind::output, "output"},
    {ArgumentKind::workspace, "workspace"},
    {ArgumentKind::batch, "batch"},
    {ArgumentKind::values, "values"},
    {ArgumentKind::packed_weight, "packed_weight"},
    {ArgumentKind::tensor_map, "tensor_map"},
}};

}  // namespace

std::string_view to_string(ArgumentKind kind) {
    for (const auto& [known, name] : k_argument_names) {
        if (known == kind) return name;
    }
    return "?";
}

std::optional<ArgumentKind> argument_kind_named(std::string_view name) {
    for (const auto& [kind, known] : k_argument_names) {
        if (known == name) return kind;
    }
    return std::nullopt;
}

std::int64_t grid_limit(std::size_t axis) {
    constexpr std::int64_t k_max_grid_x = 2147483647;
    constexpr std::int64_t k_max_grid_yz = 65535;
    return axis == 0 ? k_max_grid_x : k_max_grid_yz;
}

std::int64_t batch_tiles(std::int64_t batch, std::int64_t tile) {
    return batch / tile + (batch % tile != 0 ? 1 : 0);
}

std::vector<std::string> kernel_names(const LaunchPlan& plan) {
    std::vector<std::string> names;
    for (const Launch& launch : plan.launches) {
        if (std::find(names.begin(), names.end(), launch.kernel) == names.end()) names.push_back(launch.kernel);
    }
    return names;
}

std::array<std::int64_t, 3> grid_for(const Launch& launch, std::int64_t batch) {
    std::array<std::int64_t, 3> grid = launch.grid;
    if (launch.batch_axis >= 0)
        grid[static_cast<std::size_t>(launch.batch_axis)] *= batch_tiles(batch, launch.batch_tile);
    return grid;
}

std::int64_t workspace_for(const LaunchPlan& plan, std::int64_t batch) {
    return plan.workspace_bytes + plan.workspace_bytes_per_batch * batch_tiles(batch, plan.workspace_batch_tile);
}

std::int64_t workspace_alignment(const LaunchPlan& plan) {
    return std::max(plan.alignment, k_default_alignment);
}

bool serves_batch(const LaunchPlan& plan, std::int64_t batch) {
    return std::all_of(plan.launches.begin(), plan.launches.end(), [&](const Launch& launch) {
        const auto axis = static_cast<std::size_t>(launch.batch_axis);
        if (launch.batch_axis >= 0 && batch_tiles(batch, launch.batch_tile) > grid_limit(axis) / launch.grid[axis])
            return false;
        return std::all_of(launch.arguments.begin(), launch.arguments.end(), [&](const Argument& argument) {
            return argument.kind != ArgumentKind::tensor_map || map_serves_batch(argument.map, batch);
        });
    });
}

}  // namespace tconv
