#include "tuner/strategies/random_sampling.hpp"

namespace tconv {

std::optional<Config> RandomSampling::propose() {
    const auto row = history_.draw();
    if (!row) return std::nullopt;
    return history_.propose(*row);
}

void RandomSampling::report(const Config& config, std::optional<double> milliseconds) {
    history_.report(config, milliseconds);
}

}  // namespace tconv
