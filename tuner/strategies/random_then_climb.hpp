#pragma once

#include <cstdint>
#include <deque>

#include "tuner/strategies/config_table.hpp"
#include "tuner/strategies/hill_climb.hpp"
#include "tuner/strategies/random_sampling.hpp"
#include "tuner/strategies/search_history.hpp"
#include "tuner/strategies/strategy.hpp"

namespace tconv {

struct SearchSettings {
    std::uint64_t seed = 1;
    std::int64_t budget = 200;  ///< proposals that the search expects to be asked for
    double random_share = 0.3;  ///< of the budget, for random sampling
    HillClimbSettings climb;
};

/// The family's defaults first, then random configs for a share of the budget, then hill climbing until the space is
/// exhausted.
class RandomThenClimb : public Strategy {
public:
    /// Enumerates the space; it is not needed afterwards.
    RandomThenClimb(const SearchSpace& space, const Problem& problem, const DeviceInfo& device,
                    const SearchSettings& settings);

    /// How many valid configs there are.
    [[nodiscard]] std::size_t size() const { return table_.size(); }

    [[nodiscard]] std::optional<Config> propose() override;
    void report(const Config& config, std::optional<double> milliseconds) override;

private:
    ConfigTable table_;
    SearchHistory history_;
    RandomSampling random_;
    HillClimb climb_;
    std::deque<std::size_t> defaults_;  // rows not tried yet
    std::int64_t random_left_;
};

}  // namespace tconv
