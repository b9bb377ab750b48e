#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device_info.hpp"
#include "core/problem.hpp"
#include "tuner/candidate.hpp"
#include "tuner/search_space.hpp"
#include "tuner/strategies/random_then_climb.hpp"

namespace tconv {

/// The kernel families that take a problem, each with a search of its own, proposing candidates in turn. The same seed
/// and the same reports give the same proposals.
class Contest {
public:
    /// `budget` is the number of candidates that the search is laid out for; `spaces` outlive the object. Throws
    /// Error(bad_input) with each family's refusal when none takes the problem.
    Contest(const Problem& problem, const DeviceInfo& device, const std::vector<SearchSpace>& spaces,
            std::uint64_t seed, std::int64_t budget, double tolerance);

    /// The next family's next config; none when every space is exhausted.
    [[nodiscard]] std::optional<Candidate> next();

    /// Tells a family's search how a config did; nullopt: it failed.
    void report(const std::string& family, const Config& config, std::optional<double> milliseconds);

    [[nodiscard]] std::vector<std::string> families() const;
    /// Hash of the family's template with all that it includes.
    [[nodiscard]] const std::string& template_hash_of(const std::string& family) const;

private:
    struct Entrant {
        const SearchSpace* space;
        std::string hash;
        std::unique_ptr<RandomThenClimb> strategy;
        bool exhausted = false;
    };

    [[nodiscard]] const Entrant& entrant(const std::string& family) const;

    Problem problem_;
    DeviceInfo device_;
    double tolerance_;
    std::vector<Entrant> entrants_;
    std::size_t turn_ = 0;
};

}  // namespace tconv
