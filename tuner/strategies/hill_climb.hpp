#pragma once

#include <unordered_set>
#include <vector>

#include "tuner/strategies/search_history.hpp"
#include "tuner/strategies/strategy.hpp"

namespace tconv {

struct HillClimbSettings {
    int climbs = 3;  ///< started from the best known configs before anything else is tried
    int draws = 8;   ///< random configs between two restarts
};

/// Climbs from the best known configs to better neighbours. Once every neighbour of a climb's config is known to be
/// worse, it tries two parameters at a time round the best summit; then it draws some random configs and climbs again.
class HillClimb : public Strategy {
public:
    /// `history` outlives the object.
    explicit HillClimb(SearchHistory& history, const HillClimbSettings& settings = {});

    [[nodiscard]] std::optional<Config> propose() override;
    void report(const Config& config, std::optional<double> milliseconds) override;

private:
    using Rows = std::vector<std::size_t>;

    struct Climb {
        std::size_t at = 0;
        bool on_summit = false;  // every neighbour is known and none is better
    };

    [[nodiscard]] double known_time(std::size_t row) const;
    [[nodiscard]] bool move_to_better(Climb& climb, const Rows& rows);
    [[nodiscard]] std::optional<std::size_t> pick_new(const Rows& rows);
    [[nodiscard]] std::optional<std::size_t> step(Climb& climb);
    [[nodiscard]] std::optional<std::size_t> step_of_any_climb();
    [[nodiscard]] bool start_climb();
    [[nodiscard]] std::optional<std::size_t> best_start() const;
    [[nodiscard]] Climb* best_climb();

    SearchHistory& history_;
    HillClimbSettings settings_;
    std::vector<Climb> climbs_;
    std::unordered_set<std::size_t> visited_;  // rows that a climb has stood on
    int climbs_left_;
    int draws_left_;
};

}  // namespace tconv
