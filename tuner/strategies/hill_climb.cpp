#include "tuner/strategies/hill_climb.hpp"

#include <algorithm>
#include <limits>

namespace tconv {

HillClimb::HillClimb(SearchHistory& history, const HillClimbSettings& settings)
    : history_(history), settings_(settings), climbs_left_(settings.climbs), draws_left_(settings.draws) {}

void HillClimb::report(const Config& config, std::optional<double> milliseconds) {
    history_.report(config, milliseconds);
}

// A config without a report counts as no better than any other.
double HillClimb::known_time(const Config& config) const {
    return history_.time_of(config).value_or(SearchHistory::k_failed);
}

HillClimb::Climb HillClimb::climb_at(const Config& config) {
    visited_.insert(config);
    return {config, history_.neighbours(config), std::nullopt, false};
}

// Moves to the fastest candidate where that is faster than where the climb stands.
bool HillClimb::move_to_better(Climb& climb, const Configs& candidates) {
    const auto best = std::min_element(candidates.begin(), candidates.end(),
                                       [&](const Config& a, const Config& b) { return known_time(a) < known_time(b); });
    if (best == candidates.end() || !(known_time(*best) < known_time(climb.at))) return false;
    climb = climb_at(*best);
    return true;
}

// Of the candidates not proposed yet one of the shortest guess, each of those as likely: any where no time is guessed.
std::optional<Config> HillClimb::pick_new(const Configs& candidates) {
    Configs best;
    double least = std::numeric_limits<double>::infinity();
    for (const Config& config : candidates) {
        if (history_.is_proposed(config)) continue;
        const double guess = history_.guess(config);
        if (guess > least) continue;
        if (guess < least) best.clear();
        least = guess;
        best.push_back(config);
    }
    if (best.empty()) return std::nullopt;
    return best[draw_below(history_.random(), best.size())];
}

std::optional<Config> HillClimb::step_of_any_climb() {
    for (Climb& climb : climbs_) {
        if (climb.on_summit) continue;
        while (move_to_better(climb, climb.neighbours)) {
        }
        if (auto config = pick_new(climb.neighbours)) return config;
        climb.on_summit = std::all_of(climb.neighbours.begin(), climb.neighbours.end(),
                                      [&](const Config& config) { return history_.time_of(config).has_value(); });
    }
    return std::nullopt;
}

const Config* HillClimb::best_start() const {
    const Config* best = nullptr;
    for (const Config& config : history_.timed()) {
        if (visited_.contains(config)) continue;
        if (best == nullptr || known_time(config) < known_time(*best)) best = &config;
    }
    return best;
}

// Starts at the best known config that does not lead, over known ones, to where another climb stands.
bool HillClimb::start_climb() {
    while (const Config* start = best_start()) {
        Climb climb = climb_at(*start);
        while (move_to_better(climb, climb.neighbours)) {
        }
        const bool taken =
            std::any_of(climbs_.begin(), climbs_.end(), [&](const Climb& other) { return other.at == climb.at; });
        if (taken) continue;
        climbs_.push_back(std::move(climb));
        return true;
    }
    return false;
}

HillClimb::Climb* HillClimb::best_climb() {
    const auto best = std::min_element(climbs_.begin(), climbs_.end(), [&](const Climb& a, const Climb& b) {
        return known_time(a.at) < known_time(b.at);
    });
    return best == climbs_.end() ? nullptr : &*best;
}

std::optional<Config> HillClimb::next() {
    while (true) {
        if (auto config = step_of_any_climb()) return config;
        if (climbs_left_ > 0 && start_climb()) {
            --climbs_left_;
            continue;
        }
        if (Climb* best = best_climb()) {
            if (!best->pairs) best->pairs = history_.pair_neighbours(best->at);
            if (move_to_better(*best, *best->pairs)) continue;
            if (auto config = pick_new(*best->pairs)) return config;
        }
        if (draws_left_ > 0) {
            --draws_left_;
            return history_.draw();
        }
        climbs_left_ = 1;
        draws_left_ = settings_.draws;
    }
}

std::optional<Config> HillClimb::propose() {
    std::optional<Config> config = next();
    if (config) history_.mark_proposed(*config);
    return config;
}

}  // namespace tconv
