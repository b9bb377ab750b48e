#pragma once

#include "tuner/strategies/search_history.hpp"
#include "tuner/strategies/strategy.hpp"

namespace tconv {

/// Distinct random configs.
class RandomSampling : public Strategy {
public:
    /// `history` outlives the object.
    explicit RandomSampling(SearchHistory& history) : history_(history) {}

    [[nodiscard]] std::optional<Config> propose() override;
    void report(const Config& config, std::optional<double> milliseconds) override;

private:
    SearchHistory& history_;
};

}  // namespace tconv
