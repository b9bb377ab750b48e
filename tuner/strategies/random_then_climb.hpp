#pragma once

#include <cstdint>
#include <deque>

#include "tuner/strategies/hill_climb.hpp"
#include "tuner/strategies/random_sampling.hpp"
#include "tuner/strategies/search_history.hpp"
#include "tuner/strategies/strategy.hpp"

namespace tconv {

struct SearchSettings {
    std::uint64_t seed = 1;
    std::int64_t budget = 200;  ///< proposals that the search expects to be asked for
    double random_share = 0.4;  ///< of the budget: climbing starts once so many are known or proposed
    HillClimbSettings climb;
};

/// The family's defaults first (where it guesses times, the two of the shortest guess), then random configs for a share
/// of the budget, then hill climbing until the space is exhausted.
class RandomThenClimb : public Strategy {
public:
    /// `space` outlives the object.
    RandomThenClimb(const SearchSpace& space, const Problem& problem, const DeviceInfo& device,
                    const SearchSettings& settings, const Demand& demand = {});

    /// Whether there is no valid config at all.
    [[nodiscard]] bool empty() const { return empty_; }

    /// The shortest time that the family guesses for what it is about to propose, in the guess's unit; nullopt where it
    /// guesses none.
    [[nodiscard]] std::optional<double> promise();

    /// Takes `config` as proposed by this search; false where it is known already.
    [[nodiscard]] bool claim(const Config& config);

    [[nodiscard]] std::optional<Config> propose() override;
    void report(const Config& config, std::optional<double> milliseconds) override;

private:
    [[nodiscard]] bool has_default();

    SearchHistory history_;
    RandomSampling random_;
    HillClimb climb_;
    std::deque<Config> defaults_;  // not looked at yet
    std::optional<Config> drawn_;  // to be proposed after them
    std::size_t climb_from_;       // configs known or proposed when climbing starts
    bool empty_;
};

}  // namespace tconv
