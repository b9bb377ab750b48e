#include "tuner/turns.hpp"

#include <algorithm>

namespace tconv {
namespace {

constexpr std::int64_t k_right_trials = 8;     // a family is judged by so many
constexpr std::int64_t k_right_patience = 24;  // or by so many proposals where hardly any is right
constexpr double k_least_weight = 1.0 / 32;    // a slow family's luck may still turn
constexpr double k_least_promise = 1.0 / 16;   // and a guess may be wrong

double square(double value) {
    return value * value;
}

/// The least of the values that families have.
template <class Families, class Value>
std::optional<double> least(const Families& families, Value value) {
    std::optional<double> result;
    for (const auto& family : families) {
        if (family.*value) result = std::min(result.value_or(*(family.*value)), *(family.*value));
    }
    return result;
}

}  // namespace

void Turns::report(std::size_t family, std::optional<double> milliseconds) {
    Family& one = families_[family];
    ++one.reported;
    if (!milliseconds) return;
    ++one.right;
    one.best = std::min(one.best.value_or(*milliseconds), *milliseconds);
}

// What was reported without a proposal of this session, stored trials, counts as tried too.
bool Turns::is_new(const Family& family) {
    return family.right < k_right_trials && std::max(family.proposals, family.reported) < k_right_patience;
}

double Turns::weight(const Family& family) const {
    if (family.gone) return 0;
    const std::optional<double> best = least(families_, &Family::best);
    if (is_new(family) || !best) {
        const std::optional<double> guess = least(families_, &Family::guess);
        return family.guess ? std::max(square(*guess / *family.guess), k_least_promise) : 1;
    }
    return family.best ? std::max(square(*best / *family.best), k_least_weight) : k_least_weight;
}

// Each family's first turn comes before any second one. Then every turn each family earns its weight, and who has most
// pays for the turn.
std::optional<std::size_t> Turns::next() {
    for (std::size_t place = 0; place < families_.size(); ++place) {
        Family& family = families_[place];
        if (family.gone || family.proposals + family.reported > 0) continue;
        ++family.proposals;
        return place;
    }
    double earned = 0;
    Family* richest = nullptr;
    for (Family& family : families_) {
        if (family.gone) continue;
        const double income = weight(family);
        earned += income;
        family.credit += income;
        if (richest == nullptr || family.credit > richest->credit) richest = &family;
    }
    if (richest == nullptr) return std::nullopt;
    richest->credit -= earned;
    ++richest->proposals;
    return static_cast<std::size_t>(richest - families_.data());
}

}  // namespace tconv
