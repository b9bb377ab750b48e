#include "tuner/strategies/hill_climb.hpp"

#include <algorithm>

namespace tconv {

HillClimb::HillClimb(SearchHistory& history, const HillClimbSettings& settings)
    : history_(history), settings_(settings), climbs_left_(settings.climbs), draws_left_(settings.draws) {}

void HillClimb::report(const Config& config, std::optional<double> milliseconds) {
    history_.report(config, milliseconds);
}

// A row without a report counts as no better than any other.
double HillClimb::known_time(std::size_t row) const {
    return history_.time_of(row).value_or(SearchHistory::k_failed);
}

// Moves to the fastest of `rows` where that is faster than where the climb stands.
bool HillClimb::move_to_better(Climb& climb, const Rows& rows) {
    const auto best = std::min_element(rows.begin(), rows.end(),
                                       [&](std::size_t a, std::size_t b) { return known_time(a) < known_time(b); });
    if (best == rows.end() || !(known_time(*best) < known_time(climb.at))) return false;
    climb = {*best, false};
    visited_.insert(*best);
    return true;
}

// One of the rows not proposed yet, each as likely.
std::optional<std::size_t> HillClimb::pick_new(const Rows& rows) {
    Rows fresh;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(fresh),
                 [&](std::size_t row) { return !history_.is_proposed(row); });
    if (fresh.empty()) return std::nullopt;
    return fresh[draw_below(history_.random(), fresh.size())];
}

std::optional<std::size_t> HillClimb::step(Climb& climb) {
    Rows neighbours = history_.table().neighbours(climb.at);
    while (move_to_better(climb, neighbours))
        neighbours = history_.table().neighbours(climb.at);
    const auto fresh = pick_new(neighbours);
    climb.on_summit = std::all_of(neighbours.begin(), neighbours.end(),
                                  [&](std::size_t row) { return history_.time_of(row).has_value(); });
    return fresh;
}

std::optional<std::size_t> HillClimb::step_of_any_climb() {
    for (Climb& climb : climbs_) {
        if (climb.on_summit) continue;
        if (const auto row = step(climb)) return row;
    }
    return std::nullopt;
}

std::optional<std::size_t> HillClimb::best_start() const {
    std::optional<std::size_t> best;
    for (const std::size_t row : history_.timed()) {
        if (visited_.contains(row)) continue;
        if (!best || known_time(row) < known_time(*best)) best = row;
    }
    return best;
}

// Starts at the best known row that does not lead, over known rows, to where another climb stands.
bool HillClimb::start_climb() {
    while (const auto start = best_start()) {
        visited_.insert(*start);
        Climb climb{*start, false};
        while (move_to_better(climb, history_.table().neighbours(climb.at))) {
        }
        const bool taken =
            std::any_of(climbs_.begin(), climbs_.end(), [&](const Climb& other) { return other.at == climb.at; });
        if (taken) continue;
        climbs_.push_back(climb);
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

std::optional<Config> HillClimb::propose() {
    while (true) {
        if (const auto row = step_of_any_climb()) return history_.propose(*row);
        if (climbs_left_ > 0 && start_climb()) {
            --climbs_left_;
            continue;
        }
        if (Climb* best = best_climb()) {
            const Rows pairs = history_.table().pair_neighbours(best->at);
            if (move_to_better(*best, pairs)) continue;
            if (const auto row = pick_new(pairs)) return history_.propose(*row);
        }
        if (draws_left_ > 0) {
            --draws_left_;
            const auto row = history_.draw();
            if (!row) return std::nullopt;
            return history_.propose(*row);
        }
        climbs_left_ = 1;
        draws_left_ = settings_.draws;
    }
}

}  // namespace tconv
