#include "tuner/strategies/search_history.hpp"

#include <cmath>
#include <numeric>
#include <utility>

namespace tconv {

SearchHistory::SearchHistory(const ConfigTable& table, std::uint64_t seed)
    : table_(table), random_(seed), proposed_(table.size(), false), deck_(table.size()) {
    std::iota(deck_.begin(), deck_.end(), std::size_t{0});
}

Config SearchHistory::propose(std::size_t row) {
    proposed_[row] = true;
    return table_.config(row);
}

std::optional<std::size_t> SearchHistory::draw() {
    while (drawn_ < deck_.size()) {
        const std::size_t other = drawn_ + draw_below(random_, deck_.size() - drawn_);
        std::swap(deck_[drawn_], deck_[other]);
        const std::size_t row = deck_[drawn_];
        ++drawn_;
        if (!proposed_[row]) return row;
    }
    return std::nullopt;
}

void SearchHistory::report(const Config& config, std::optional<double> milliseconds) {
    const auto row = table_.row_of(config);
    if (!row) return;
    proposed_[*row] = true;
    const bool ok = milliseconds.has_value() && std::isfinite(*milliseconds);
    const auto entry = times_.try_emplace(*row, k_failed).first;
    if (ok && entry->second == k_failed) timed_.push_back(*row);
    entry->second = ok ? *milliseconds : k_failed;
}

std::optional<double> SearchHistory::time_of(std::size_t row) const {
    const auto found = times_.find(row);
    if (found == times_.end()) return std::nullopt;
    return found->second;
}

}  // namespace tconv
