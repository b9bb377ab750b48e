#pragma once

#include <cmath>

#include "tests/tuner/spaces_for_tests.hpp"
#include "tuner/strategies/strategy.hpp"

namespace tconv::testing {

/// Five parameters of ten values; a third of the product is valid.
inline SearchSpace wide_space(const std::string& defaults = "") {
    std::string parameters;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        parameters += std::string("  ") + name + ": {values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}\n";
    }
    return make_space(parameters, "", "  - \"a + b <= 12\"\n  - \"c * d <= 30\"\n  - \"(a + e) % 3 != 1\"\n", defaults);
}

/// Smooth, with one lowest point, at (3, 7, 2, 8, 4) inside the valid part.
inline double bowl(const Config& config) {
    const auto square = [&](const char* name, double lowest) {
        const double distance = static_cast<double>(config.at(name)) - lowest;
        return distance * distance;
    };
    return 1 + square("a", 3) + 2 * square("b", 7) + square("c", 2) + 0.5 * square("d", 8) + square("e", 4);
}

/// Proposals until the strategy ends or `limit` is reached; reports lag behind by `lag` proposals.
template <class Time>
std::vector<Config> run(Strategy& strategy, std::size_t limit, std::size_t lag, const Time& time) {
    std::vector<Config> proposals;
    std::size_t reported = 0;
    while (proposals.size() < limit) {
        const auto config = strategy.propose();
        if (config) proposals.push_back(*config);
        while (reported < proposals.size() && (!config || proposals.size() - reported > lag)) {
            strategy.report(proposals[reported], time(proposals[reported]));
            ++reported;
        }
        if (!config) break;
    }
    return proposals;
}

}  // namespace tconv::testing
