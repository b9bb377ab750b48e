#include "tuner/strategies/search_history.hpp"

#include <algorithm>
#include <cmath>

namespace tconv {
namespace {

// The value `steps` away in the parameter's list, where there is one.
std::optional<std::int64_t> value_at(const Parameter& parameter, std::int64_t value, std::ptrdiff_t steps) {
    const auto at = std::find(parameter.values.begin(), parameter.values.end(), value) - parameter.values.begin();
    const std::ptrdiff_t there = at + steps;
    if (there < 0 || there >= static_cast<std::ptrdiff_t>(parameter.values.size())) return std::nullopt;
    return parameter.values[static_cast<std::size_t>(there)];
}

}  // namespace

SearchHistory::SearchHistory(const SearchSpace& space, const Problem& problem, const DeviceInfo& device,
                             std::uint64_t seed, const Demand& demand)
    : space_(space), problem_(problem), device_(device), demand_(demand), random_(seed) {}

bool SearchHistory::is_valid(const Config& config) const {
    return space_.violation(problem_, device_, config, demand_).empty();
}

double SearchHistory::guess(const Config& config) const {
    return space_.guesses_times() ? space_.expectation(problem_, device_, config).time : 0;
}

std::optional<Config> SearchHistory::draw() {
    const auto draw_any = [&] {
        return space_.draw(
            problem_, device_, [&](std::uint64_t count) { return draw_below(random_, count); },
            [&](const Config& config) { return !is_proposed(config); }, demand_);
    };
    if (!space_.guesses_times()) return draw_any();
    return promising_.next(random_, {draw_any, [&](const Config& config) { return guess(config); },
                                     [&](const Config& config) { return is_proposed(config); },
                                     [&](const Config& config) { return random_neighbour(config); }});
}

void SearchHistory::report(const Config& config, std::optional<double> milliseconds) {
    if (!is_proposed(config) && !space_.violation(problem_, device_, config).empty()) return;
    std::optional<double>& time = times_[config];
    const bool ran = milliseconds.has_value() && std::isfinite(*milliseconds);
    if (ran && time.value_or(k_failed) == k_failed) timed_.push_back(config);
    time = ran ? *milliseconds : k_failed;
}

std::optional<double> SearchHistory::time_of(const Config& config) const {
    const auto found = times_.find(config);
    return found == times_.end() ? std::nullopt : found->second;
}

std::optional<Config> SearchHistory::random_neighbour(const Config& config) {
    const std::vector<Parameter>& parameters = space_.parameters();
    const Parameter& parameter = parameters[draw_below(random_, parameters.size())];
    Config there = config;
    there[parameter.name] = parameter.values[draw_below(random_, parameter.values.size())];
    if (there == config || !is_valid(there)) return std::nullopt;
    return there;
}

std::vector<Config> SearchHistory::neighbours(const Config& config) const {
    std::vector<Config> result;
    for (const Parameter& parameter : space_.parameters()) {
        const std::int64_t here = config.at(parameter.name);
        for (const std::ptrdiff_t direction : {-1, 1}) {
            Config there = config;
            for (std::ptrdiff_t steps = direction; const auto value = value_at(parameter, here, steps);
                 steps += direction) {
                there[parameter.name] = *value;
                if (!is_valid(there)) continue;
                result.push_back(there);
                break;
            }
        }
    }
    return result;
}

std::vector<Config> SearchHistory::pair_neighbours(const Config& config) const {
    std::vector<Config> result;
    const std::vector<Parameter>& parameters = space_.parameters();
    for (auto first = parameters.begin(); first != parameters.end(); ++first) {
        for (const std::ptrdiff_t first_step : {-1, 1}) {
            const auto first_value = value_at(*first, config.at(first->name), first_step);
            if (!first_value) continue;
            for (auto second = first + 1; second != parameters.end(); ++second) {
                for (const std::ptrdiff_t second_step : {-1, 1}) {
                    const auto second_value = value_at(*second, config.at(second->name), second_step);
                    if (!second_value) continue;
                    Config there = config;
                    there[first->name] = *first_value;
                    there[second->name] = *second_value;
                    if (is_valid(there)) result.push_back(std::move(there));
                }
            }
        }
    }
    return result;
}

}  // namespace tconv
