#pragma once

#include <cstdint>
#include <random>

namespace tconv {

/// Seeded generator of the strategies. std::mt19937_64 is the same everywhere; the standard's distributions are not.
using Random = std::mt19937_64;

/// Uniform in [0, count); `count` is at least 1.
[[nodiscard]] inline std::uint64_t draw_below(Random& random, std::uint64_t count) {
    // The last, incomplete run of `count` values would favour small results: draw again there.
    const std::uint64_t incomplete = (Random::max() % count + 1) % count;
    std::uint64_t value = random();
    while (value > Random::max() - incomplete)
        value = random();
    return value % count;
}

}  // namespace tconv
