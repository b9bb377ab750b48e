#pragma once

#include <optional>
#include <set>
#include <vector>

#include "tuner/strategies/search_history.hpp"
#include "tuner/strategies/strategy.hpp"

namespace tconv {

struct HillClimbSettings {
    int climbs = 3;  ///< started from the best known configs before anything else is tried
    int draws = 8;   ///< random configs between two restarts
};

/// Climbs from the best known configs to better neighbours. Once every neighbour of where the climbs stand is tried, it
/// changes two parameters at a time round the best of them; then it draws some random configs and climbs again.
class HillClimb : public Strategy {
public:
    /// `history` outlives the object.
    explicit HillClimb(SearchHistory& history, const HillClimbSettings& settings = {});

    [[nodiscard]] std::optional<Config> propose() override;
    void report(const Config& config, std::optional<double> milliseconds) override;

private:
    using Configs = std::vector<Config>;

    struct Climb {
        Config at;
        Configs neighbours;
        std::optional<Configs> pairs;  // worked out when needed
        bool on_summit = false;        // every neighbour is known and none is better
    };

    [[nodiscard]] Climb climb_at(const Config& config);
    [[nodiscard]] bool move_to_better(Climb& climb, const Configs& candidates);
    [[nodiscard]] std::optional<Config> pick_new(const Configs& candidates);
    [[nodiscard]] std::optional<Config> step_of_any_climb();
    [[nodiscard]] std::optional<Config> next();
    [[nodiscard]] bool start_climb();
    [[nodiscard]] const Config* best_start() const;
    [[nodiscard]] Climb* best_climb();
    [[nodiscard]] double known_time(const Config& config) const;

    SearchHistory& history_;
    HillClimbSettings settings_;
    std::vector<Climb> climbs_;
    std::set<Config> visited_;  // where a climb has stood
    int climbs_left_;
    int draws_left_;
};

}  // namespace tconv
