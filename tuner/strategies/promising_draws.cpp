#include "tuner/strategies/promising_draws.hpp"

#include <algorithm>
#include <utility>

namespace tconv {
namespace {

constexpr std::size_t k_pool = 512;
constexpr std::size_t k_part = 384;  // of the pool, from which the best is taken
constexpr int k_differences = 2;     // parameters in which a config differs from one of another kind
constexpr int k_looks = 500;         // at neighbours of a draw

// Whether they differ in so many parameters at least.
bool differ(const Config& a, const Config& b, int parameters) {
    auto in_b = b.begin();
    for (auto in_a = a.begin(); in_a != a.end() && in_b != b.end(); ++in_a, ++in_b) {
        if (in_a->second != in_b->second && --parameters == 0) return true;
    }
    return false;
}

// Of the values alone: configs of one space have the same names.
std::size_t hash_of(const Config& config) {
    std::size_t hash = 0;
    for (const auto& [name, value] : config)
        hash = (hash ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15U;
    return hash;
}

}  // namespace

void PromisingDraws::fill(const Space& space) {
    // A small space gives the same configs again and again: as many tries as the pool has places.
    for (std::size_t tries = pool_.size(); tries < k_pool; ++tries) {
        std::optional<Config> config = space.draw();
        if (!config) return;
        const std::size_t hash = hash_of(*config);
        const bool known = std::any_of(pool_.begin(), pool_.end(), [&](const Entry& entry) {
            return entry.hash == hash && entry.config == *config;
        });
        if (known) continue;
        const double time = space.guess(*config);
        pool_.push_back({std::move(*config), hash, time});
    }
}

bool PromisingDraws::is_new_in_kind(const Config& config) const {
    return std::all_of(given_.begin(), given_.end(),
                       [&](const Config& other) { return differ(config, other, k_differences); });
}

Config PromisingDraws::improve(Entry entry, const Space& space) const {
    for (int look = 0; look < k_looks; ++look) {
        std::optional<Config> there = space.neighbour(entry.config);
        if (!there) continue;
        const double time = space.guess(*there);
        if (time < entry.time && !space.is_proposed(*there) && is_new_in_kind(*there)) {
            entry.config = std::move(*there);
            entry.time = time;
        }
    }
    return std::move(entry.config);
}

// The most promising of a random part of the pool that is of a new kind, else of any kind.
std::optional<PromisingDraws::Entry> PromisingDraws::take_best(Random& random, const Space& space) {
    // The part moves to the pool's front.
    const std::size_t part = std::min(k_part, pool_.size());
    for (std::size_t i = 0; i < part; ++i)
        std::swap(pool_[i], pool_[i + draw_below(random, pool_.size() - i)]);
    std::vector<const Entry*> by_time;
    for (std::size_t i = 0; i < part; ++i)
        by_time.push_back(&pool_[i]);
    std::stable_sort(by_time.begin(), by_time.end(), [](const Entry* a, const Entry* b) { return a->time < b->time; });
    const Entry* best = nullptr;
    for (const Entry* entry : by_time) {
        if (space.is_proposed(entry->config)) continue;
        if (best == nullptr) best = entry;
        if (!is_new_in_kind(entry->config)) continue;
        best = entry;
        break;
    }
    if (best == nullptr) return std::nullopt;
    const auto place = pool_.begin() + (best - pool_.data());
    Entry taken = std::move(*place);
    pool_.erase(place);
    return taken;
}

std::optional<Config> PromisingDraws::next(Random& random, const Space& space) {
    fill(space);
    std::optional<Entry> entry = take_best(random, space);
    if (!entry) {
        // Other strategies may have proposed what was drawn before.
        std::erase_if(pool_, [&](const Entry& one) { return space.is_proposed(one.config); });
        fill(space);
        entry = take_best(random, space);
    }
    if (!entry) return std::nullopt;
    Config config = improve(std::move(*entry), space);
    given_.push_back(config);
    return config;
}

}  // namespace tconv
