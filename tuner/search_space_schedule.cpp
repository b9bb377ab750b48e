#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tuner/names.hpp"
#include "tuner/space_definition.hpp"

namespace tconv {
namespace {

class Scheduler {
public:
    explicit Scheduler(const SpaceDefinition& space) : space_(space), derived_level_(space.derived.size(), k_unknown) {
        for (std::size_t i = 0; i < space.parameters.size(); ++i)
            parameters_[space.parameters[i].name] = i;
        for (std::size_t i = 0; i < space.derived.size(); ++i)
            derived_[space.derived[i].name] = i;
    }

    Schedule run() {
        check_names();
        for (std::size_t i = 0; i < space_.derived.size(); ++i)
            (void)level_of_derived(i);
        Schedule schedule(space_.parameters.size() + 1);
        std::vector<bool> placed(space_.derived.size(), false);
        // Constraints first, each with what it needs, so that a constraint protects derived quantities of its level.
        for (std::size_t level = 0; level < schedule.size(); ++level) {
            for (std::size_t i = 0; i < space_.constraints.size(); ++i) {
                if (level_of(space_.constraints[i].formula) != level) continue;
                place_needs(space_.constraints[i].formula, placed, schedule);
                schedule[level].push_back({ScheduleStep::Kind::constraint, i});
            }
        }
        // A demand prunes as a constraint does; the constraints of its level protect it.
        place_demand(space_.error, ScheduleStep::Kind::error, placed, schedule);
        place_demand(space_.strict.formula, ScheduleStep::Kind::strict, placed, schedule);
        place_demand(space_.compile_seconds, ScheduleStep::Kind::compile_seconds, placed, schedule);
        for (std::size_t i = 0; i < space_.derived.size(); ++i)
            place_derived(i, placed, schedule);
        return schedule;
    }

private:
    static constexpr std::size_t k_unknown = static_cast<std::size_t>(-1);

    [[noreturn]] void fail(int line, const std::string& sentence) const { fail_at(space_.file, line, sentence); }

    void check(const Formula& formula, bool given_names_only) const {
        for (const std::string& name : formula.names) {
            const bool own = parameters_.contains(name) || derived_.contains(name);
            if (is_given_name(name) || (own && !given_names_only)) continue;
            if (own) {
                fail(formula.line, fmt::format("\"{}\" uses {}, but applies may use problem.* and device.* alone",
                                               formula.text, name));
            }
            fail(formula.line, fmt::format("unknown name {} in \"{}\"", name, formula.text));
        }
    }

    void check_map(const MapDefinition& map) const {
        for (const std::vector<Formula>* list : {&map.extents, &map.strides, &map.box}) {
            for (const Formula& formula : *list)
                check(formula, false);
        }
        for (const Formula* formula : {&map.swizzle, &map.batch_dimension, &map.l2_promotion})
            check(*formula, false);
    }

    void check_launch(const LaunchDefinition& launch) const {
        for (const Formula& formula : launch.grid)
            check(formula, false);
        for (const Formula& formula : launch.block)
            check(formula, false);
        check(launch.when, false);
        check(launch.batch_tile, false);
        check(launch.overlaps, false);
        check(launch.cluster, false);
        check(launch.shared_bytes, false);
        check(launch.alignment, false);
        for (const ArgumentDefinition& argument : launch.arguments) {
            if (argument.offset) check(*argument.offset, false);
            for (const Formula& formula : argument.values)
                check(formula, false);
            if (argument.map) check_map(*argument.map);
        }
    }

    void check_names() const {
        for (const Rule& rule : space_.applies)
            check(rule.formula, true);
        for (const DerivedQuantity& derived : space_.derived)
            check(derived.value, false);
        for (const Rule& rule : space_.constraints)
            check(rule.formula, false);
        for (const LaunchDefinition& launch : space_.launches)
            check_launch(launch);
        check(space_.workspace_bytes, false);
        check(space_.workspace_bytes_per_batch, false);
        check(space_.workspace_batch_tile, false);
        check(space_.packed_weight_bytes, false);
        check(space_.error, false);
        check(space_.strict.formula, false);
        check(space_.exact_on_integers, false);
        check(space_.compile_seconds, false);
        check(space_.time, false);
    }

    std::size_t level_of(const Formula& formula) {
        std::size_t level = 0;
        for (const std::string& name : formula.names) {
            if (const auto parameter = parameters_.find(name); parameter != parameters_.end()) {
                level = std::max(level, parameter->second + 1);
            } else if (const auto derived = derived_.find(name); derived != derived_.end()) {
                level = std::max(level, level_of_derived(derived->second));
            }
        }
        return level;
    }

    std::size_t level_of_derived(std::size_t index) {
        if (derived_level_[index] != k_unknown) return derived_level_[index];
        const DerivedQuantity& derived = space_.derived[index];
        const bool circle = std::find(path_.begin(), path_.end(), derived.name) != path_.end();
        path_.push_back(derived.name);
        if (circle) {
            const auto begin = std::find(path_.begin(), path_.end(), derived.name);
            fail(derived.value.line, fmt::format("derived quantities depend on each other in a circle: {}",
                                                 fmt::join(begin, path_.end(), " -> ")));
        }
        const std::size_t level = level_of(derived.value);
        path_.pop_back();
        return derived_level_[index] = level;
    }

    void place_needs(const Formula& formula, std::vector<bool>& placed, Schedule& schedule) {
        for (const std::string& name : formula.names) {
            if (const auto derived = derived_.find(name); derived != derived_.end()) {
                place_derived(derived->second, placed, schedule);
            }
        }
    }

    void place_derived(std::size_t index, std::vector<bool>& placed, Schedule& schedule) {
        if (placed[index]) return;
        placed[index] = true;
        place_needs(space_.derived[index].value, placed, schedule);
        schedule[derived_level_[index]].push_back({ScheduleStep::Kind::derived, index});
    }

    void place_demand(const Formula& formula, ScheduleStep::Kind kind, std::vector<bool>& placed, Schedule& schedule) {
        place_needs(formula, placed, schedule);
        schedule[level_of(formula)].push_back({kind, 0});
    }

    const SpaceDefinition& space_;
    std::map<std::string, std::size_t> parameters_;
    std::map<std::string, std::size_t> derived_;
    std::vector<std::size_t> derived_level_;
    std::vector<std::string> path_;  // derived quantities being resolved, outermost first
};

void check_default(const SpaceDefinition& space, const DefaultConfig& choice) {
    std::set<std::string> known;
    for (const Parameter& parameter : space.parameters) {
        known.insert(parameter.name);
        const auto entry = choice.config.find(parameter.name);
        if (entry == choice.config.end()) {
            fail_at(space.file, choice.line, fmt::format("a default lacks the parameter {}", parameter.name));
        }
        if (std::find(parameter.values.begin(), parameter.values.end(), entry->second) == parameter.values.end()) {
            fail_at(space.file, choice.line,
                    fmt::format("a default sets {} to {}, but its values are {}", parameter.name, entry->second,
                                fmt::join(parameter.values, ", ")));
        }
    }
    for (const auto& [name, value] : choice.config) {
        if (!known.contains(name)) {
            fail_at(space.file, choice.line, fmt::format("a default sets {}, which is no parameter", name));
        }
    }
}

}  // namespace

Schedule schedule_space(const SpaceDefinition& space) {
    Schedule schedule = Scheduler(space).run();
    for (const DefaultConfig& choice : space.defaults)
        check_default(space, choice);
    return schedule;
}

}  // namespace tconv
