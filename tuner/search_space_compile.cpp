#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "tuner/names.hpp"
#include "tuner/search_space_binding.hpp"

#include <fmt/format.h>

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

Binding::Binding(const SpaceDefinition& space, const Schedule& schedule, const Problem& problem,
                 const DeviceInfo& device)
    : space_(space),
      schedule_(schedule),
      problem_(problem),
      device_(device),
      constants_(given_values(problem, device)),
      values_(space.parameters.size() + space.derived.size()) {
    for (const Rule& rule : space.applies) {
        if (truth(compile(rule.formula))) continue;
        refusal_ = describe(rule);
        return;
    }
    for (std::size_t i = 0; i < space.parameters.size(); ++i) {
        variables_[space.parameters[i].name] = &values_[i];
        config_[space.parameters[i].name] = 0;
        by_name_.push_back(i);
    }
    for (const Parameter& parameter : space.parameters)
        in_config_.push_back(&config_[parameter.name]);
    std::sort(by_name_.begin(), by_name_.end(),
              [&](std::size_t a, std::size_t b) { return space.parameters[a].name < space.parameters[b].name; });
    compile_derived();
    compile_rest();
    order_steps();
}

// A quantity that the problem alone decides is a constant for all that is compiled after it.
void Binding::compile_derived() {
    derived_.resize(space_.derived.size());
    for (const std::vector<ScheduleStep>& level : schedule_) {
        for (const ScheduleStep& step : level) {
            if (step.kind != ScheduleStep::Kind::derived) continue;
            const DerivedQuantity& derived = space_.derived[step.index];
            const Bound& bound = derived_[step.index].emplace(compile(derived.value));
            variables_[derived.name] = &derived_value(step.index);
            if (!bound.expression.variables().empty()) continue;
            try {
                derived_value(step.index) = static_cast<double>(bound.expression.integer());
                constants_[derived.name] = derived_value(step.index);
            } catch (const Error&) {
                // A fault of whatever needs it.
            }
        }
    }
}

void Binding::compile_rest() {
    for (const Rule& rule : space_.constraints)
        constraints_.push_back(compile(rule.formula));
    for (const LaunchDefinition& definition : space_.launches)
        launches_.push_back(compile(definition));
    error_ = compile(space_.error);
    strict_ = compile(space_.strict.formula);
    compile_seconds_ = compile(space_.compile_seconds);
    time_ = compile(space_.time);
    workspace_ = compile(space_.workspace_bytes);
    workspace_per_batch_ = compile(space_.workspace_bytes_per_batch);
    workspace_batch_tile_ = compile(space_.workspace_batch_tile);
    packed_weight_ = compile(space_.packed_weight_bytes);
    exact_on_integers_ = compile(space_.exact_on_integers);
}

const Binding::Bound& Binding::bound_of(const ScheduleStep& step) const {
    switch (step.kind) {
        case ScheduleStep::Kind::derived:
            return *derived_[step.index];
        case ScheduleStep::Kind::constraint:
            return constraints_[step.index];
        case ScheduleStep::Kind::error:
            return *error_;
        case ScheduleStep::Kind::strict:
            return *strict_;
        case ScheduleStep::Kind::compile_seconds:
            break;
    }
    return *compile_seconds_;
}

// Which derived quantities some formulas are worked out from, by themselves or through others.
std::vector<bool> Binding::needed_by(std::vector<const Bound*> open) const {
    std::vector<bool> needed(derived_.size(), false);
    while (!open.empty()) {
        const Bound& bound = *open.back();
        open.pop_back();
        for (const double* variable : bound.expression.variables()) {
            const auto place = static_cast<std::size_t>(variable - values_.data());
            if (place < space_.parameters.size()) continue;
            const std::size_t index = place - space_.parameters.size();
            if (!needed[index]) open.push_back(&*derived_[index]);
            needed[index] = true;
        }
    }
    return needed;
}

Binding::Parameters Binding::parameters_of(const Bound& bound, const std::vector<Parameters>& of_derived) const {
    Parameters result = 0;
    for (const double* variable : bound.expression.variables()) {
        const auto place = static_cast<std::size_t>(variable - values_.data());
        const std::size_t parameters = space_.parameters.size();
        result |= place < parameters ? bit_of(place) : of_derived[place - parameters];
    }
    return result;
}

// Whether a rule holds for every config, whatever is demanded.
bool Binding::always_holds(const ScheduleStep& step) {
    if (step.kind != ScheduleStep::Kind::constraint || !bound_of(step).expression.variables().empty()) return false;
    try {
        return bound_of(step).expression.truth();
    } catch (const Error&) {
        return false;
    }
}

void Binding::order_steps() {
    std::vector<const Bound*> judges{&*error_, &*strict_, &*compile_seconds_};
    for (const Bound& constraint : constraints_)
        judges.push_back(&constraint);
    const std::vector<bool> judging = needed_by(judges);
    const std::vector<bool> guessing = needed_by({&*time_});
    std::vector<Parameters> of_derived(derived_.size(), 0);
    levels_.resize(schedule_.size());
    for (std::size_t level = 0; level < schedule_.size(); ++level) {
        for (const ScheduleStep& step : schedule_[level]) {
            if (always_holds(step)) continue;
            const Parameters depends = parameters_of(bound_of(step), of_derived);
            const bool derived = step.kind == ScheduleStep::Kind::derived;
            if (derived) {
                of_derived[step.index] = depends;
                if (constants_.contains(space_.derived[step.index].name)) continue;
            }
            if (derived && !judging[step.index]) {
                (guessing[step.index] ? guess_ : plan_).steps.push_back({step, depends});
                continue;
            }
            levels_[level].push_back({step, depends});
            if (derived || step.kind == ScheduleStep::Kind::constraint) {
                rules_.steps.push_back({step, depends});
            } else {
                demands_.push_back(step);
            }
        }
    }
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

}  // namespace tconv
