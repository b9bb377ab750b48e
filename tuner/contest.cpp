#include "tuner/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/error.hpp"
#include "kernel_sources/sources.hpp"
#include "tuner/adapted_config.hpp"

namespace tconv {
namespace {

// Random sampling ends after its share of this many trials, however many are allowed: climbing finds more from then on.
constexpr std::int64_t k_search_budget = 200;

// What is guessed to compile longer is not drawn: many other configs can be tried meanwhile.
constexpr double k_most_compile_seconds = 20;

std::string no_config(const SearchSpace& space, const Demand& demand) {
    if (demand.strict) return fmt::format("{} has no valid config in plain fp32 arithmetic for it", space.name());
    return fmt::format("{} has no valid config for it within the tolerance {:.2g}", space.name(), demand.tolerance);
}

}  // namespace

Contest::Contest(const Problem& problem, const DeviceInfo& device, const std::vector<SearchSpace>& spaces,
                 std::uint64_t seed, std::int64_t budget, double tolerance, bool strict)
    : problem_(problem), device_(device), demand_{tolerance, strict, k_most_compile_seconds} {
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
        auto strategy = std::make_unique<RandomThenClimb>(space, problem, device, settings, demand_);
        if (strategy->empty()) {
            refuse(no_config(space, demand_));
            continue;
        }
        entrants_.push_back({&space, template_hash(space.template_file()), std::move(strategy)});
    }
    if (entrants_.empty()) {
        throw Error(ErrorKind::bad_input,
                    fmt::format("no kernel family takes this problem ({}): {}", key(problem), refusals));
    }
    turns_ = Turns(entrants_.size());
}

// Guessing takes some hundred draws a family: only once something is to be proposed.
void Contest::ask_for_promises() {
    if (std::exchange(has_promises_, true) || entrants_.size() == 1) return;
    for (std::size_t place = 0; place < entrants_.size(); ++place) {
        if (const auto guess = entrants_[place].strategy->promise()) turns_.promise(place, *guess);
    }
}

bool Contest::propose_first(const std::string& family, const Config& config) {
    const std::size_t place = place_of(family);
    if (!entrants_[place].strategy->claim(config)) return false;
    first_.emplace_back(place, config);
    return true;
}

std::optional<Candidate> Contest::next() {
    if (!first_.empty()) {
        const auto [place, config] = std::move(first_.front());
        first_.pop_front();
        turns_.out_of_turn(place);
        return candidate(*entrants_[place].space, config);
    }
    ask_for_promises();
    while (const auto place = turns_.next()) {
        Entrant& entrant = entrants_[*place];
        if (const auto config = entrant.strategy->propose()) return candidate(*entrant.space, *config);
        turns_.leave(*place);
    }
    return std::nullopt;
}

Candidate Contest::candidate(const SearchSpace& space, const Config& config) const {
    Candidate result;
    result.problem = problem_;
    result.template_name = space.name();
    result.config = config;
    result.plan = space.plan(problem_, device_, config);
    result.tolerance = demand_.tolerance;
    return result;
}

void Contest::report(const std::string& family, const Config& config, std::optional<double> milliseconds) {
    const std::size_t place = place_of(family);
    turns_.report(place, milliseconds);
    entrants_[place].strategy->report(config, milliseconds);
}

std::vector<std::string> Contest::families() const {
    std::vector<std::string> names;
    for (const Entrant& entrant : entrants_)
        names.push_back(entrant.space->name());
    return names;
}

std::optional<Expectation> Contest::expectation(const std::string& family, const Config& config) const {
    const SearchSpace& space = *entrants_[place_of(family)].space;
    if (!space.violation(problem_, device_, config).empty()) return std::nullopt;
    return space.expectation(problem_, device_, config);
}

std::optional<Config> Contest::adapted(const std::string& family, const Config& former) const {
    return adapted_config(*entrants_[place_of(family)].space, problem_, device_, former,
                          {demand_.tolerance, demand_.strict});
}

bool Contest::admits(const std::string& family, const Config& config) const {
    const auto expected = expectation(family, config);
    return !expected || (expected->error <= demand_.tolerance && (expected->strict || !demand_.strict));
}

const std::string& Contest::template_hash_of(const std::string& family) const {
    return entrants_[place_of(family)].hash;
}

std::size_t Contest::place_of(const std::string& family) const {
    const auto found =
        std::find_if(entrants_.begin(), entrants_.end(), [&](const Entrant& e) { return e.space->name() == family; });
    assert(found != entrants_.end());
    return static_cast<std::size_t>(found - entrants_.begin());
}

}  // namespace tconv
