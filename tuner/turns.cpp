#include "tuner/turns.hpp"

#include <algorithm>

namespace tconv {
namespace {

constexpr std::int64_t k_right_trials = 8;   // a family is judged by so many
constexpr std::int64_t k_patience = 24;      // or by so many proposals where hardly any is right
constexpr double k_least_weight = 1.0 / 32;  // a slow family's luck may still turn

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
    return family.right < k_right_trials && std::max(family.proposals, family.reported) < k_patience;
}

std::optional<double> Turns::best() const {
    std::optional<double> best;
    for (const Family& family : families_) {
        if (family.best) best = std::min(best.value_or(*family.best), *family.best);
    }
    return best;
}

double Turns::weight(const Family& family, std::optional<double> best) {
    if (family.gone) return 0;
    if (is_new(family) || !best) return 1;
    if (!family.best) return k_least_weight;
    const double ratio = *best / *family.best;
    return std::max(ratio * ratio, k_least_weight);
}

// Every turn each family earns its weight, and who has most pays for the turn.
std::optional<std::size_t> Turns::next() {
    const std::optional<double> fastest = best();
    double earned = 0;
    Family* richest = nullptr;
    for (Family& family : families_) {
        if (family.gone) continue;
        const double income = weight(family, fastest);
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
