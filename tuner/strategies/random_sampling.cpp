#include "tuner/strategies/random_sampling.hpp"

namespace tconv {

std::optional<Config> RandomSampling::propose() {
    std::optional<Config> config = history_.draw();
    if (config) history_.mark_proposed(*config);
    return config;
}

void RandomSampling::report(const Config& config, std::optional<double> milliseconds) {
    history_.report(config, milliseconds);
}

}  // namespace tconv
