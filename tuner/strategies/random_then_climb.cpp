#include "tuner/strategies/random_then_climb.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tconv {
namespace {

// Where times are guessed: the best defaults, and further ones that are hardly worse than the best.
constexpr std::size_t k_best_defaults = 2;
constexpr std::size_t k_most_defaults = 6;
constexpr double k_hardly_worse = 1.12;

/// How many of the defaults, whose guessed times rise, are worth a trial before anything else.
std::size_t promising(const std::vector<std::pair<double, Config>>& guessed) {
    const double best = guessed.empty() ? 0 : guessed.front().first;
    if (best <= 0) return guessed.size();
    std::size_t count = 0;
    while (count < std::min(guessed.size(), k_most_defaults) &&
           (count < k_best_defaults || guessed[count].first <= k_hardly_worse * best))
        ++count;
    return count;
}

}  // namespace

RandomThenClimb::RandomThenClimb(const SearchSpace& space, const Problem& problem, const DeviceInfo& device,
                                 const SearchSettings& settings, const Demand& demand)
    : history_(space, problem, device, settings.seed, demand),
      random_(history_),
      climb_(history_, settings.climb),
      climb_from_(static_cast<std::size_t>(
          std::llround(std::max(0.0, settings.random_share * static_cast<double>(settings.budget))))),
      empty_(!space.draw(
          problem, device, [](std::uint64_t) { return std::uint64_t{0}; }, [](const Config&) { return true; },
          demand)) {
    std::vector<Config> defaults = space.defaults(problem, device, demand);
    if (!defaults.empty()) empty_ = false;
    std::vector<std::pair<double, Config>> guessed;
    for (Config& config : defaults)
        guessed.emplace_back(history_.guess(config), std::move(config));
    std::stable_sort(guessed.begin(), guessed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    guessed.resize(promising(guessed));
    for (auto& [time, config] : guessed)
        defaults_.push_back(std::move(config));
}

bool RandomThenClimb::has_default() {
    while (!defaults_.empty() && history_.is_proposed(defaults_.front()))
        defaults_.pop_front();
    return !defaults_.empty();
}

std::optional<double> RandomThenClimb::promise() {
    if (!drawn_) drawn_ = history_.draw();
    std::optional<double> best;
    const auto look_at = [&](const Config& config) {
        if (const double time = history_.guess(config); time > 0) best = std::min(best.value_or(time), time);
    };
    for (const Config& config : defaults_)
        look_at(config);
    if (drawn_) look_at(*drawn_);
    return best;
}

bool RandomThenClimb::claim(const Config& config) {
    if (history_.is_proposed(config)) return false;
    history_.mark_proposed(config);
    return true;
}

std::optional<Config> RandomThenClimb::propose() {
    if (has_default()) {
        const Config config = std::move(defaults_.front());
        defaults_.pop_front();
        history_.mark_proposed(config);
        return config;
    }
    if (const std::optional<Config> drawn = std::exchange(drawn_, std::nullopt);
        drawn && !history_.is_proposed(*drawn)) {
        history_.mark_proposed(*drawn);
        return drawn;
    }
    return history_.size() < climb_from_ ? random_.propose() : climb_.propose();
}

void RandomThenClimb::report(const Config& config, std::optional<double> milliseconds) {
    history_.report(config, milliseconds);
}

}  // namespace tconv
