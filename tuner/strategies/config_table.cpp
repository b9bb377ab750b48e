#include "tuner/strategies/config_table.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace tconv {
namespace {

std::optional<std::uint16_t> ordinal_of(const Parameter& parameter, std::int64_t value) {
    const auto at = std::find(parameter.values.begin(), parameter.values.end(), value);
    if (at == parameter.values.end()) return std::nullopt;
    return static_cast<std::uint16_t>(at - parameter.values.begin());
}

// The ordinal one step up or down, where there is one.
std::optional<std::uint16_t> step(const Parameter& parameter, std::uint16_t ordinal, int direction) {
    const int next = ordinal + direction;
    if (next < 0 || next >= static_cast<int>(parameter.values.size())) return std::nullopt;
    return static_cast<std::uint16_t>(next);
}

}  // namespace

ConfigTable::ConfigTable(const SearchSpace& space, const Problem& problem, const DeviceInfo& device)
    : parameters_(space.parameters()) {
    for ([[maybe_unused]] const Parameter& parameter : parameters_) {
        assert(parameter.values.size() <= std::numeric_limits<std::uint16_t>::max());
    }
    space.enumerate(problem, device, [&](const Config& config) {
        for (const Parameter& parameter : parameters_) {
            ordinals_.push_back(*ordinal_of(parameter, config.at(parameter.name)));
        }
        ++size_;
        return true;
    });
}

Config ConfigTable::config(std::size_t row) const {
    Config result;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        result[parameters_[i].name] = parameters_[i].values[ordinals_[row * parameters_.size() + i]];
    }
    return result;
}

std::optional<std::size_t> ConfigTable::row_of(const Config& config) const {
    if (config.size() != parameters_.size()) return std::nullopt;
    Ordinals wanted;
    for (const Parameter& parameter : parameters_) {
        const auto entry = config.find(parameter.name);
        if (entry == config.end()) return std::nullopt;
        const auto ordinal = ordinal_of(parameter, entry->second);
        if (!ordinal) return std::nullopt;
        wanted.push_back(*ordinal);
    }
    return row_of(wanted);
}

ConfigTable::Ordinals ConfigTable::ordinals(std::size_t row) const {
    const auto begin = ordinals_.begin() + static_cast<std::ptrdiff_t>(row * parameters_.size());
    return {begin, begin + static_cast<std::ptrdiff_t>(parameters_.size())};
}

// Binary search: enumeration yields the rows in lexicographic order.
std::optional<std::size_t> ConfigTable::row_of(const Ordinals& wanted) const {
    const auto row_begin = [&](std::size_t row) {
        return ordinals_.begin() + static_cast<std::ptrdiff_t>(row * parameters_.size());
    };
    const auto width = static_cast<std::ptrdiff_t>(parameters_.size());
    std::size_t low = 0;
    std::size_t high = size_;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        const auto begin = row_begin(middle);
        if (std::lexicographical_compare(begin, begin + width, wanted.begin(), wanted.end())) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == size_ || !std::equal(wanted.begin(), wanted.end(), row_begin(low))) return std::nullopt;
    return low;
}

std::vector<std::size_t> ConfigTable::neighbours(std::size_t row) const {
    std::vector<std::size_t> result;
    const Ordinals here = ordinals(row);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        for (const int direction : {-1, 1}) {
            Ordinals there = here;
            std::optional<std::size_t> found;
            while (!found) {
                const auto next = step(parameters_[i], there[i], direction);
                if (!next) break;
                there[i] = *next;
                found = row_of(there);
            }
            if (found) result.push_back(*found);
        }
    }
    return result;
}

std::vector<std::size_t> ConfigTable::pair_neighbours(std::size_t row) const {
    std::vector<std::size_t> result;
    const Ordinals here = ordinals(row);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        for (const int step_i : {-1, 1}) {
            const auto next_i = step(parameters_[i], here[i], step_i);
            if (!next_i) continue;
            Ordinals there = here;
            there[i] = *next_i;
            for (std::size_t j = i + 1; j < parameters_.size(); ++j) {
                for (const int step_j : {-1, 1}) {
                    const auto next_j = step(parameters_[j], here[j], step_j);
                    if (!next_j) continue;
                    there[j] = *next_j;
                    if (const auto found = row_of(there)) result.push_back(*found);
                }
                there[j] = here[j];
            }
        }
    }
    return result;
}

}  // namespace tconv
