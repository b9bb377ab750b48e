#include "tuner/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "core/error.hpp"
#include "kernel_sources/sources.hpp"

namespace tconv {
namespace {

// Random sampling ends after its share of this many trials, however many are allowed: climbing finds more from then on.
constexpr std::int64_t k_search_budget = 200;

}  // namespace

Contest::Contest(const Problem& problem, const DeviceInfo& device, const std::vector<SearchSpace>& spaces,
                 std::uint64_t seed, std::int64_t budget, double tolerance)
    : problem_(problem), device_(device), tolerance_(tolerance) {
    std::string refusals;
    const auto refuse = [&](const std::string& sentence) { refusals += (refusals.empty() ? "" : "; ") + sentence; };
    for (const SearchSpace& space : spaces) {
        if (const std::string refusal = space.refusal(problem, device); !refusal.empty()) {
            refuse(refusal);
            continue;
        }
        SearchSettings settings;
        settings.seed = seed;
        settings.budget = std::min(budget, k_search_budget);
        auto strategy = std::make_unique<RandomThenClimb>(space, problem, device, settings);
        if (strategy->empty()) {
            refuse(fmt::format("{} has no valid config for it", space.name()));
            continue;
        }
        entrants_.push_back({&space, template_hash(space.template_file()), std::move(strategy)});
    }
    if (entrants_.empty()) {
        throw Error(ErrorKind::bad_input,
                    fmt::format("no kernel family takes this problem ({}): {}", key(problem), refusals));
    }
}

std::optional<Candidate> Contest::next() {
    for (std::size_t tries = 0; tries < entrants_.size(); ++tries) {
        Entrant& entrant = entrants_[turn_++ % entrants_.size()];
        if (entrant.exhausted) continue;
        const auto config = entrant.strategy->propose();
        if (!config) {
            entrant.exhausted = true;
            continue;
        }
        Candidate candidate;
        candidate.problem = problem_;
        candidate.template_name = entrant.space->name();
        candidate.config = *config;
        candidate.plan = entrant.space->plan(problem_, device_, *config);
        candidate.tolerance = tolerance_;
        return candidate;
    }
    return std::nullopt;
}

void Contest::report(const std::string& family, const Config& config, std::optional<double> milliseconds) {
    entrant(family).strategy->report(config, milliseconds);
}

std::vector<std::string> Contest::families() const {
    std::vector<std::string> names;
    for (const Entrant& entrant : entrants_)
        names.push_back(entrant.space->name());
    return names;
}

const std::string& Contest::template_hash_of(const std::string& family) const {
    return entrant(family).hash;
}

const Contest::Entrant& Contest::entrant(const std::string& family) const {
    const auto found =
        std::find_if(entrants_.begin(), entrants_.end(), [&](const Entrant& e) { return e.space->name() == family; });
    assert(found != entrants_.end());
    return *found;
}

}  // namespace tconv
