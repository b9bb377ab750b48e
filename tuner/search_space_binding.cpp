#include "tuner/search_space_binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"

namespace tconv {
std::string describe(const Rule& rule) {
    return rule.because.empty() ? fmt::format("it breaks the rule \"{}\"", rule.formula.text) : rule.because;
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

Expectation Binding::expectation() {
    settle(guess_);
    return {real_from_zero(*error_, "error"), truth(*strict_), real_from_zero(*compile_seconds_, "cost"),
            real_from_zero(*time_, "time")};
}

// Works out a derived quantity, or tests a rule; a limit that nobody sets costs nothing.
bool Binding::holds(const ScheduleStep& step) {
    switch (step.kind) {
        case ScheduleStep::Kind::derived:
            derived_value(step.index) = static_cast<double>(integer(*derived_[step.index]));
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
const Binding::Step* Binding::evaluate_level(std::size_t level) {
    const auto& steps = levels_[level];
    const auto broken =
        std::find_if(steps.begin(), steps.end(), [this](const Step& step) { return !holds(step.what); });
    return broken == steps.end() ? nullptr : &*broken;
}

// Gives the parameter of this level a value; the first rule that is now testable and broken, or null.
const Binding::Step* Binding::enter(std::size_t level, std::int64_t value) {
    --nodes_left_;
    forget();
    values_[level] = static_cast<double>(value);
    *in_config_[level] = value;
    return evaluate_level(level + 1);
}

// False when the walk is to stop.
bool Binding::descend(std::size_t level, const std::function<bool(const Config&)>& visit) {
    if (level == space_.parameters.size()) {
        rules_.changed = 0;
        return visit(config_);
    }
    for (const std::int64_t value : space_.parameters[level].values) {
        if (nodes_left_ <= 0) return false;
        if (enter(level, value) == nullptr && !descend(level + 1, visit)) return false;
    }
    return true;
}

void Binding::walk(const std::function<bool(const Config&)>& visit, std::int64_t node_limit) {
    nodes_left_ = node_limit;
    if (!refusal_.empty() || evaluate_level(0) != nullptr) return;
    (void)descend(0, visit);
}

// Nothing when config_ is accepted; else the parameters whose values leave no config. Where this one is not among them,
// its other values would fail for the same reasons: the search goes back to the last one that is.
std::optional<Binding::Parameters> Binding::descend_at_random(std::size_t level,
                                                              const std::function<std::uint64_t(std::uint64_t)>& below,
                                                              const std::function<bool(const Config&)>& accept) {
    if (level == space_.parameters.size()) {
        rules_.changed = 0;
        return accept(config_) ? std::nullopt : std::optional(k_all);
    }
    std::vector<std::int64_t> values = space_.parameters[level].values;
    Parameters culprits = 0;
    while (!values.empty() && nodes_left_ > 0) {
        std::swap(values[below(values.size())], values.back());
        const std::int64_t value = values.back();
        values.pop_back();
        const Step* const broken = enter(level, value);
        const auto conflict =
            broken != nullptr ? std::optional(broken->depends) : descend_at_random(level + 1, below, accept);
        if (!conflict || (*conflict & bit_of(level)) == 0) return conflict;
        culprits |= *conflict;
    }
    const bool own_bit = level + 1 < k_bits;
    return own_bit ? culprits & ~bit_of(level) : k_all;
}

// A branch that looks well may hold nothing but broken configs: better to start again at the top than to search all of
// it. Attempts become longer from time to time; only when that has failed often is the whole space searched.
std::optional<Config> Binding::draw(const std::function<std::uint64_t(std::uint64_t)>& below,
                                    const std::function<bool(const Config&)>& accept) {
    constexpr int k_attempts = 140;
    constexpr int k_alike = 20;  // attempts of one length
    constexpr std::int64_t k_nodes = 100;
    if (!refusal_.empty() || evaluate_level(0) != nullptr) return std::nullopt;
    for (int attempt = 0; attempt <= k_attempts; ++attempt) {
        nodes_left_ = attempt < k_attempts ? k_nodes << (attempt / k_alike) : std::numeric_limits<std::int64_t>::max();
        if (!descend_at_random(0, below, accept)) return config_;
        if (nodes_left_ > 0) return std::nullopt;
    }
    return std::nullopt;
}

void Binding::change(std::size_t parameter, std::int64_t value) {
    const auto number = static_cast<double>(value);
    if (values_[parameter] == number) return;
    values_[parameter] = number;
    for (Lot* lot : {&rules_, &guess_, &plan_})
        lot->changed |= bit_of(parameter);
}

void Binding::settle(Lot& lot) {
    for (const Step& step : lot.steps) {
        if (lot.changed == k_all || (step.depends & lot.changed) != 0) (void)holds(step.what);
    }
    lot.changed = 0;
}

// The first rule or demand that the values break, or null. What has not been looked at by then stays changed.
const ScheduleStep* Binding::broken_rule() {
    for (const Step& step : rules_.steps) {
        const bool affected = rules_.changed == k_all || (step.depends & rules_.changed) != 0;
        if (affected && !holds(step.what)) return &step.what;
    }
    rules_.changed = 0;
    const auto broken =
        std::find_if(demands_.begin(), demands_.end(), [this](const ScheduleStep& step) { return !holds(step); });
    return broken == demands_.end() ? nullptr : &*broken;
}

// False where the config has other names than the parameters, or a value that is none of a parameter's.
bool Binding::take_values(const Config& config) {
    if (config.size() != by_name_.size()) return false;
    auto place = by_name_.begin();
    for (const auto& [name, value] : config) {
        const Parameter& parameter = space_.parameters[*place];
        if (name != parameter.name) return false;
        if (std::find(parameter.values.begin(), parameter.values.end(), value) == parameter.values.end()) return false;
        change(*place++, value);
    }
    return true;
}

std::string Binding::mismatch(const Config& config) const {
    for (const Parameter& parameter : space_.parameters) {
        const auto entry = config.find(parameter.name);
        if (entry == config.end()) return fmt::format("it lacks the parameter {}", parameter.name);
        if (std::find(parameter.values.begin(), parameter.values.end(), entry->second) == parameter.values.end()) {
            return fmt::format("{} is {}, which is not one of {}", parameter.name, entry->second,
                               fmt::join(parameter.values, ", "));
        }
    }
    const auto stranger =
        std::find_if(config.begin(), config.end(), [&](const auto& entry) { return !config_.contains(entry.first); });
    return fmt::format("{} is no parameter of {}", stranger->first, space_.family);
}

std::string Binding::bind(const Config& config) {
    if (!refusal_.empty()) return refusal_;
    if (!take_values(config)) return mismatch(config);
    const ScheduleStep* const broken = broken_rule();
    return broken == nullptr ? std::string() : describe_broken(*broken);
}

}  // namespace tconv
