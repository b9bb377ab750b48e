#include "tuner/strategies/random_then_climb.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tconv {

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
    for (Config& config : space.defaults(problem, device, demand))
        defaults_.push_back(std::move(config));
    if (!defaults_.empty()) empty_ = false;
}

bool RandomThenClimb::has_default() {
    while (!defaults_.empty() && history_.is_proposed(defaults_.front()))
        defaults_.pop_front();
    return !defaults_.empty();
}

std::optional<Config> RandomThenClimb::propose() {
    if (has_default()) {
        const Config config = std::move(defaults_.front());
        defaults_.pop_front();
        history_.mark_proposed(config);
        return config;
    }
    return history_.size() < climb_from_ ? random_.propose() : climb_.propose();
}

void RandomThenClimb::report(const Config& config, std::optional<double> milliseconds) {
    history_.report(config, milliseconds);
}

}  // namespace tconv
