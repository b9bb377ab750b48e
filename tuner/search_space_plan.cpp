#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "tuner/search_space_binding.hpp"

namespace tconv {

std::vector<std::int64_t> Binding::integers(const std::vector<Bound>& list) const {
    std::vector<std::int64_t> values;
    values.reserve(list.size());
    for (const Bound& bound : list)
        values.push_back(integer(bound));
    return values;
}

TensorMap Binding::tensor_map(const MapDefinition& definition, const BoundMap& bound) const {
    TensorMap map;
    // The problem's types have the names of map elements.
    map.element = parse_map_element(definition.element == "dtype" ? to_string(problem_.dtype)
                                                                  : std::string_view(definition.element));
    map.extents = integers(bound.extents);
    map.strides = integers(bound.strides);
    map.box = integers(bound.box);
    map.swizzle = integer(bound.swizzle);
    // Beyond the int's range it is refused all the same.
    map.batch_dimension = static_cast<int>(std::clamp<std::int64_t>(integer(bound.batch_dimension), -2, 100));
    map.l2_promotion = integer(bound.l2_promotion);
    return map;
}

Argument Binding::argument(const ArgumentDefinition& definition, const BoundArgument& bound) const {
    Argument argument;
    argument.kind = definition.kind;
    if (bound.offset) argument.offset = integer_from(*bound.offset, 0, "the offset");
    argument.values = integers(bound.values);
    if (bound.map) {
        argument.map = tensor_map(*definition.map, *bound.map);
        argument.mapped = definition.map->of;
    }
    return argument;
}

Launch Binding::launch(std::size_t index) const {
    const LaunchDefinition& definition = space_.launches[index];
    const BoundLaunch& bound = launches_[index];
    Launch result;
    result.kernel = definition.kernel;
    result.batch_axis = definition.batch_axis;
    result.batch_tile = integer_from(bound.batch_tile, 1, "batch_tile");
    for (std::size_t axis = 0; axis < 3; ++axis) {
        result.grid[axis] = integer_from(bound.grid[axis], 1, "the grid extent");
        result.block[axis] = integer_from(bound.block[axis], 1, "the block extent");
    }
    result.weights_only = definition.weights_only;
    result.overlaps = integer_from(bound.overlaps, 0, "overlaps") != 0;
    result.cluster = integer_from(bound.cluster, 1, "cluster");
    result.shared_bytes = integer_from(bound.shared_bytes, 0, "shared_bytes");
    for (std::size_t i = 0; i < definition.arguments.size(); ++i)
        result.arguments.push_back(argument(definition.arguments[i], bound.arguments[i]));
    return result;
}

std::int64_t Binding::alignment(const Bound& bound) const {
    const std::int64_t value = integer_from(bound, size_in_bytes(problem_.dtype), "alignment");
    if (value > k_most_alignment || (value & (value - 1)) != 0) {
        fail_at(space_.file, bound.formula->line,
                fmt::format("alignment \"{}\" is {}, but must be a power of two of at most {}", bound.formula->text,
                            value, k_most_alignment));
    }
    return value;
}

LaunchPlan Binding::plan() {
    settle(guess_);
    settle(plan_);
    LaunchPlan plan;
    plan.source_file = space_.template_file;
    plan.constants = constants();
    plan.alignment = size_in_bytes(problem_.dtype);
    for (std::size_t i = 0; i < launches_.size(); ++i) {
        if (!truth(launches_[i].when)) continue;
        plan.launches.push_back(launch(i));
        plan.alignment = std::max(plan.alignment, alignment(launches_[i].alignment));
    }
    plan.workspace_bytes = integer_from(*workspace_, 0, "workspace_bytes");
    plan.workspace_bytes_per_batch = integer_from(*workspace_per_batch_, 0, "workspace_bytes_per_batch");
    plan.workspace_batch_tile = integer_from(*workspace_batch_tile_, 1, "workspace_batch_tile");
    plan.packed_weight_bytes = integer_from(*packed_weight_, 0, "packed_weight_bytes");
    plan.exact_on_integers = truth(*exact_on_integers_);
    return plan;
}

Config Binding::constants() {
    Config result;
    for (std::size_t i = 0; i < space_.derived.size(); ++i) {
        if (!space_.derived[i].constant) continue;
        result[space_.derived[i].name] = static_cast<std::int64_t>(derived_value(i));
    }
    return result;
}

}  // namespace tconv
