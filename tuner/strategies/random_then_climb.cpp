#include "tuner/strategies/random_then_climb.hpp"

#include <cmath>

namespace tconv {

RandomThenClimb::RandomThenClimb(const SearchSpace& space, const Problem& problem, const DeviceInfo& device,
                                 const SearchSettings& settings)
    : table_(space, problem, device),
      history_(table_, settings.seed),
      random_(history_),
      climb_(history_, settings.climb),
      random_left_(std::llround(settings.random_share * static_cast<double>(settings.budget))) {
    for (const Config& config : space.defaults(problem, device)) {
        if (const auto row = table_.row_of(config)) defaults_.push_back(*row);
    }
}

std::optional<Config> RandomThenClimb::propose() {
    while (!defaults_.empty()) {
        const std::size_t row = defaults_.front();
        defaults_.pop_front();
        if (!history_.is_proposed(row)) return history_.propose(row);
    }
    if (random_left_ > 0) {
        --random_left_;
        return random_.propose();
    }
    return climb_.propose();
}

void RandomThenClimb::report(const Config& config, std::optional<double> milliseconds) {
    history_.report(config, milliseconds);
}

}  // namespace tconv
