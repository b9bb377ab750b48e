#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device_info.hpp"
#include "core/problem.hpp"
#include "tuner/candidate.hpp"
#include "tuner/search_space.hpp"
#include "tuner/strategies/random_then_climb.hpp"
#include "tuner/turns.hpp"

namespace tconv {

/// The kernel families that take a problem, each with a search of its own. The turns go
/// mostly to the families that guess the shortest times, then to those that lead. The same seed and the same reports
/// give the same proposals.
class Contest {
public:
    /// `budget` is the number of candidates that the search is laid out for; `spaces` outlive the object. No config is
    /// proposed whose expected error exceeds `tolerance`, and where `strict` is set only those of plain fp32
    /// arithmetic. Throws Error(bad_input) with each family's refusal when none takes the problem.
    Contest(const Problem& problem, const DeviceInfo& device, const std::vector<SearchSpace>& spaces,
            std::uint64_t seed, std::int64_t budget, double tolerance, bool strict = false);

    /// Has a config, valid for the family, proposed before all that are not asked for in this way; false where it is
    /// known already.
    bool propose_first(const std::string& family, const Config& config);

    /// The next candidate; none when every space is exhausted.
    [[nodiscard]] std::optional<Candidate> next();

    /// Tells a family's search how a config did; nullopt: it failed.
    void report(const std::string& family, const Config& config, std::optional<double> milliseconds);

    [[nodiscard]] std::vector<std::string> families() const;
    /// What a family's file says of a config; nullopt where it is not valid for the family.
    [[nodiscard]] std::optional<Expectation> expectation(const std::string& family, const Config& config) const;
    /// What a config of another version of the family is here: see adapted_config. Someone compiled it, so that the
    /// time that takes is no matter.
    [[nodiscard]] std::optional<Config> adapted(const std::string& family, const Config& former) const;
    /// Whether a config keeps within the tolerance and the strictness asked for, as far as its family's file says.
    [[nodiscard]] bool admits(const std::string& family, const Config& config) const;
    /// Hash of the family's template with all that it includes.
    [[nodiscard]] const std::string& template_hash_of(const std::string& family) const;

private:
    struct Entrant {
        const SearchSpace* space;
        std::string hash;
        std::unique_ptr<RandomThenClimb> strategy;
    };

    void ask_for_promises();
    [[nodiscard]] std::size_t place_of(const std::string& family) const;
    [[nodiscard]] Candidate candidate(const SearchSpace& space, const Config& config) const;

    Problem problem_;
    DeviceInfo device_;
    Demand demand_;
    std::vector<Entrant> entrants_;
    std::deque<std::pair<std::size_t, Config>> first_;  // before any turn: the family's place and what it proposes
    Turns turns_{0};
    bool has_promises_ = false;
};

}  // namespace tconv
