#include "tuner/strategies/promising_draws.hpp"

#include <algorithm>
#include <utility>

namespace tconv {
namespace {

constexpr std::size_t k_pool = 1024;
constexpr std::size_t k_part = 512;  // of the pool, from which the best is taken
constexpr int k_differences = 2;     // parameters in which a config differs from one of another kind
constexpr int k_looks = 500;         // at neighbours of a draw

int differences(const Config& a, const Config& b) {
    int count = 0;
    for (auto in_a = a.begin(), in_b = b.begin(); in_a != a.end() && in_b != b.end(); ++in_a, ++in_b)
        count += in_a->second != in_b->second ? 1 : 0;
    return count;
}

}  // namespace

void PromisingDraws::fill(const Space& space) {
    std::erase_if(pool_, [&](const Entry& entry) { return space.is_proposed(entry.config); });
    // A small space gives the same configs again and again: as many tries as the pool has places.
    for (std::size_t tries = pool_.size(); tries < k_pool; ++tries) {
        std::optional<Config> config = space.draw();
        if (!config) return;
        const bool known =
            std::any_of(pool_.begin(), pool_.end(), [&](const Entry& entry) { return entry.config == *config; });
        if (known) continue;
        const double time = space.guess(*config);
        pool_.push_back({std::move(*config), time});
    }
}

bool PromisingDraws::is_new_in_kind(const Config& config) const {
    return std::all_of(given_.begin(), given_.end(),
                       [&](const Config& other) { return differences(config, other) >= k_differences; });
}

Config PromisingDraws::improve(Entry entry, const Space& space) const {
    for (int look = 0; look < k_looks; ++look) {
        const std::optional<Config> there = space.neighbour(entry.config);
        if (!there || space.is_proposed(*there) || !is_new_in_kind(*there)) continue;
        if (const double time = space.guess(*there); time < entry.time) entry = {*there, time};
    }
    return entry.config;
}

std::optional<Config> PromisingDraws::next(Random& random, const Space& space) {
    fill(space);
    if (pool_.empty()) return std::nullopt;
    // The part moves to the pool's front.
    const std::size_t part = std::min(k_part, pool_.size());
    for (std::size_t i = 0; i < part; ++i)
        std::swap(pool_[i], pool_[i + draw_below(random, pool_.size() - i)]);
    const auto end = pool_.begin() + static_cast<std::ptrdiff_t>(part);
    std::stable_sort(pool_.begin(), end, [](const Entry& a, const Entry& b) { return a.time < b.time; });
    auto chosen = std::find_if(pool_.begin(), end, [&](const Entry& entry) { return is_new_in_kind(entry.config); });
    if (chosen == end) chosen = pool_.begin();
    Entry entry = std::move(*chosen);
    pool_.erase(chosen);
    Config config = improve(std::move(entry), space);
    given_.push_back(config);
    return config;
}

}  // namespace tconv
