#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "core/device_info.hpp"
#include "core/problem.hpp"
#include "tuner/search_space.hpp"
#include "tuner/strategies/promising_draws.hpp"
#include "tuner/strategies/random.hpp"

namespace tconv {

/// What a search knows of its space: which configs were proposed, and how those reported did. Shared by the strategies
/// that a search is composed of.
class SearchHistory {
public:
    /// A failed config is slower than any.
    static constexpr double k_failed = std::numeric_limits<double>::infinity();

    /// `space` outlives the object.
    SearchHistory(const SearchSpace& space, const Problem& problem, const DeviceInfo& device, std::uint64_t seed,
                  const Demand& demand = {});

    [[nodiscard]] Random& random() { return random_; }

    /// Whether it keeps the family's rules and meets the demand.
    [[nodiscard]] bool is_valid(const Config& config) const;
    [[nodiscard]] bool is_proposed(const Config& config) const { return times_.contains(config); }
    void mark_proposed(const Config& config) { times_.try_emplace(config); }
    /// What the space's file guesses of its time; 0: nothing.
    [[nodiscard]] double guess(const Config& config) const;
    /// How many configs were proposed or reported.
    [[nodiscard]] std::size_t size() const { return times_.size(); }
    /// A random config that was not proposed yet, a promising one where the space guesses times; nothing when there is
    /// none.
    [[nodiscard]] std::optional<Config> draw();

    /// Ignores what is not in the space; what is there and does not meet the demand is kept.
    void report(const Config& config, std::optional<double> milliseconds);
    /// Milliseconds, k_failed, or nothing while there is no report.
    [[nodiscard]] std::optional<double> time_of(const Config& config) const;
    /// Configs that ran, in the order of their first reports.
    [[nodiscard]] const std::vector<Config>& timed() const { return timed_; }

    /// Valid configs that differ from `config` in one parameter: by one step of its list, or by more where the values
    /// between are not valid.
    [[nodiscard]] std::vector<Config> neighbours(const Config& config) const;
    /// Valid configs that differ from `config` in two parameters by one step each.
    [[nodiscard]] std::vector<Config> pair_neighbours(const Config& config) const;

private:
    [[nodiscard]] std::optional<Config> random_neighbour(const Config& config);

    const SearchSpace& space_;
    Problem problem_;
    DeviceInfo device_;
    Demand demand_;
    Random random_;
    PromisingDraws promising_;
    std::map<Config, std::optional<double>> times_;  // of every config proposed or reported
    std::vector<Config> timed_;
};

}  // namespace tconv
