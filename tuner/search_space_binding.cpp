#include "tuner/search_space_binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "tuner/names.hpp"

namespace tconv {
namespace {

std::map<std::string, double> given_values(const Problem& problem, const DeviceInfo& device) {
    std::map<std::string, double> result;
    for (const NamedValues& values : {word_values(), problem_values(problem), device_values(device)}) {
        for (const auto& [name, value] : values)
            result[name] = static_cast<double>(value);
    }
    return result;
}

}  // namespace

std::string describe(const Rule& rule) {
    return rule.because.empty() ? fmt::format("it breaks the rule \"{}\"", rule.formula.text) : rule.because;
}

Binding::Binding(const SpaceDefinition& space, const Schedule& schedule, const Problem& problem,
                 const DeviceInfo& device)
    : space_(space),
      schedule_(schedule),
      problem_(problem),
      device_(device),
      constants_(given_values(problem, device)),
      parameter_values_(space.parameters.size()),
      derived_values_(space.derived.size()) {
    for (const Rule& rule : space.applies) {
        if (truth(compile(rule.formula))) continue;
        refusal_ = describe(rule);
        return;
    }
    for (std::size_t i = 0; i < space.parameters.size(); ++i) {
        variables_[space.parameters[i].name] = &parameter_values_[i];
        config_[space.parameters[i].name] = 0;
    }
    for (const Parameter& parameter : space.parameters)
        in_config_.push_back(&config_[parameter.name]);
    for (std::size_t i = 0; i < space.derived.size(); ++i)
        variables_[space.derived[i].name] = &derived_values_[i];
    for (const DerivedQuantity& derived : space.derived)
        derived_.push_back(compile(derived.value));
    for (const Rule& rule : space.constraints)
        constraints_.push_back(compile(rule.formula));
    for (const LaunchDefinition& definition : space.launches)
        launches_.push_back(compile(definition));
    error_ = compile(space.error);
    strict_ = compile(space.strict.formula);
    compile_seconds_ = compile(space.compile_seconds);
    time_ = compile(space.time);
    workspace_ = compile(space.workspace_bytes);
    workspace_per_batch_ = compile(space.workspace_bytes_per_batch);
    packed_weight_ = compile(space.packed_weight_bytes);
}

Binding::Bound Binding::compile(const Formula& formula) const {
    for (const std::string& name : formula.names) {
        const auto given = constants_.find(name);
        if (given != constants_.end() && given->second > static_cast<double>(k_largest_exact_integer)) {
            fail_at(space_.file, formula.line, fmt::format("{} is {}, which is beyond 2^53", name, given->second));
        }
    }
    try {
        return {&formula, Expression(formula.text, constants_, variables_)};
    } catch (const Error& error) {
        fail_at(space_.file, formula.line, error.what());
    }
}

std::vector<Binding::Bound> Binding::compile(const std::vector<Formula>& formulas) const {
    std::vector<Bound> result;
    result.reserve(formulas.size());
    for (const Formula& formula : formulas)
        result.push_back(compile(formula));
    return result;
}

Binding::BoundMap Binding::compile(const MapDefinition& map) const {
    return {compile(map.extents), compile(map.strides),         compile(map.box),
            compile(map.swizzle), compile(map.batch_dimension), compile(map.l2_promotion)};
}

Binding::BoundLaunch Binding::compile(const LaunchDefinition& launch) const {
    BoundLaunch result{{},
                       {},
                       compile(launch.when),
                       compile(launch.batch_tile),
                       compile(launch.overlaps),
                       compile(launch.cluster),
                       compile(launch.shared_bytes),
                       compile(launch.alignment),
                       {}};
    for (const Formula& formula : launch.grid)
        result.grid.push_back(compile(formula));
    for (const Formula& formula : launch.block)
        result.block.push_back(compile(formula));
    for (const ArgumentDefinition& argument : launch.arguments) {
        BoundArgument bound;
        if (argument.offset) bound.offset = compile(*argument.offset);
        bound.values = compile(argument.values);
        if (argument.map) bound.map = compile(*argument.map);
        result.arguments.push_back(std::move(bound));
    }
    return result;
}

std::int64_t Binding::integer(const Bound& bound) const {
    try {
        return bound.expression.integer();
    } catch (const Error& error) {
        fail_at(space_.file, bound.formula->line, error.what());
    }
}

std::int64_t Binding::integer_from(const Bound& bound, std::int64_t least, const std::string& what) const {
    const std::int64_t value = integer(bound);
    if (value < least) {
        fail_at(space_.file, bound.formula->line,
                fmt::format("{} \"{}\" is {}, but must be at least {}", what, bound.formula->text, value, least));
    }
    return value;
}

bool Binding::truth(const Bound& bound) const {
    try {
        return bound.expression.truth();
    } catch (const Error& error) {
        fail_at(space_.file, bound.formula->line, error.what());
    }
}

double Binding::real_from_zero(const Bound& bound, const std::string& what) const {
    double value = 0;
    try {
        value = bound.expression.real();
    } catch (const Error& error) {
        fail_at(space_.file, bound.formula->line, error.what());
    }
    if (value < 0) {
        fail_at(space_.file, bound.formula->line,
                fmt::format("{} \"{}\" is {}, but must be at least 0", what, bound.formula->text, value));
    }
    return value;
}

Expectation Binding::expectation() const {
    return {real_from_zero(*error_, "error"), truth(*strict_), real_from_zero(*compile_seconds_, "cost"),
            real_from_zero(*time_, "time")};
}

// Works out a derived quantity, or tests a rule; a limit that nobody sets costs nothing.
bool Binding::holds(const ScheduleStep& step) {
    switch (step.kind) {
        case ScheduleStep::Kind::derived:
            derived_values_[step.index] = static_cast<double>(integer(derived_[step.index]));
            return true;
        case ScheduleStep::Kind::constraint:
            return truth(constraints_[step.index]);
        case ScheduleStep::Kind::error:
            return std::isinf(demand_.tolerance) || real_from_zero(*error_, "error") <= demand_.tolerance;
        case ScheduleStep::Kind::strict:
            return !demand_.strict || truth(*strict_);
        case ScheduleStep::Kind::compile_seconds:
            return std::isinf(demand_.compile_seconds) ||
                   real_from_zero(*compile_seconds_, "cost") <= demand_.compile_seconds;
    }
    return true;
}

std::string Binding::describe_broken(const ScheduleStep& step) const {
    switch (step.kind) {
        case ScheduleStep::Kind::derived:
            break;
        case ScheduleStep::Kind::constraint:
            return describe(space_.constraints[step.index]);
        case ScheduleStep::Kind::error:
            return fmt::format("its error would be up to {:.2g}, above the tolerance {:.2g}",
                               real_from_zero(*error_, "error"), demand_.tolerance);
        case ScheduleStep::Kind::strict:
            return space_.strict.because.empty() ? "it uses other arithmetic than plain fp32" : space_.strict.because;
        case ScheduleStep::Kind::compile_seconds:
            return fmt::format("it would take about {:.0f} s to compile", real_from_zero(*compile_seconds_, "cost"));
    }
    return {};
}

// The first broken rule of a level, or null.
const ScheduleStep* Binding::evaluate_level(std::size_t level) {
    const auto& steps = schedule_[level];
    const auto broken =
        std::find_if(steps.begin(), steps.end(), [this](const ScheduleStep& step) { return !holds(step); });
    return broken == steps.end() ? nullptr : &*broken;
}

// Gives the parameter of this level a value; false when a constraint that is now testable fails.
bool Binding::enter(std::size_t level, std::int64_t value) {
    --nodes_left_;
    parameter_values_[level] = static_cast<double>(value);
    *in_config_[level] = value;
    return evaluate_level(level + 1) == nullptr;
}

// False when the walk is to stop.
bool Binding::descend(std::size_t level, const std::function<bool(const Config&)>& visit) {
    if (level == space_.parameters.size()) return visit(config_);
    for (const std::int64_t value : space_.parameters[level].values) {
        if (nodes_left_ <= 0) return false;
        if (enter(level, value) && !descend(level + 1, visit)) return false;
    }
    return true;
}

void Binding::walk(const std::function<bool(const Config&)>& visit, std::int64_t node_limit) {
    nodes_left_ = node_limit;
    if (!refusal_.empty() || evaluate_level(0) != nullptr) return;
    (void)descend(0, visit);
}

// True when config_ is accepted.
bool Binding::descend_at_random(std::size_t level, const std::function<std::uint64_t(std::uint64_t)>& below,
                                const std::function<bool(const Config&)>& accept) {
    if (level == space_.parameters.size()) return accept(config_);
    std::vector<std::int64_t> values = space_.parameters[level].values;
    while (!values.empty() && nodes_left_ > 0) {
        std::swap(values[below(values.size())], values.back());
        const std::int64_t value = values.back();
        values.pop_back();
        if (enter(level, value) && descend_at_random(level + 1, below, accept)) return true;
    }
    return false;
}

// A branch that looks well may hold nothing but broken configs: better to start again at the top than to search all of
// it. Only when that has failed often is the whole space searched.
std::optional<Config> Binding::draw(const std::function<std::uint64_t(std::uint64_t)>& below,
                                    const std::function<bool(const Config&)>& accept) {
    constexpr int k_attempts = 100;
    constexpr std::int64_t k_nodes = 2000;
    if (!refusal_.empty() || evaluate_level(0) != nullptr) return std::nullopt;
    for (int attempt = 0; attempt <= k_attempts; ++attempt) {
        nodes_left_ = attempt < k_attempts ? k_nodes : std::numeric_limits<std::int64_t>::max();
        if (descend_at_random(0, below, accept)) return config_;
        if (nodes_left_ > 0) return std::nullopt;
    }
    return std::nullopt;
}

std::string Binding::bind(const Config& config) {
    if (!refusal_.empty()) return refusal_;
    for (std::size_t i = 0; i < space_.parameters.size(); ++i) {
        const Parameter& parameter = space_.parameters[i];
        const auto entry = config.find(parameter.name);
        if (entry == config.end()) return fmt::format("it lacks the parameter {}", parameter.name);
        if (std::find(parameter.values.begin(), parameter.values.end(), entry->second) == parameter.values.end()) {
            return fmt::format("{} is {}, which is not one of {}", parameter.name, entry->second,
                               fmt::join(parameter.values, ", "));
        }
        parameter_values_[i] = static_cast<double>(entry->second);
    }
    if (config.size() != space_.parameters.size()) {
        const auto stranger = std::find_if(config.begin(), config.end(),
                                           [&](const auto& entry) { return !config_.contains(entry.first); });
        return fmt::format("{} is no parameter of {}", stranger->first, space_.family);
    }
    for (std::size_t level = 0; level < schedule_.size(); ++level) {
        if (const ScheduleStep* broken = evaluate_level(level)) return describe_broken(*broken);
    }
    return {};
}

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
    plan.packed_weight_bytes = integer_from(*packed_weight_, 0, "packed_weight_bytes");
    return plan;
}

Config Binding::constants() const {
    Config result;
    for (std::size_t i = 0; i < space_.derived.size(); ++i) {
        if (!space_.derived[i].constant) continue;
        result[space_.derived[i].name] = static_cast<std::int64_t>(derived_values_[i]);
    }
    return result;
}

}  // namespace tconv
