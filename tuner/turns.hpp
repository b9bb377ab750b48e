#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tconv {

/// Whose turn it is among families that compete for the trials of a session. A family counts as new until it has had
/// some right trials (or many proposals without): new ones share the turns evenly with the fastest. From then on a
/// family's share falls with the square of how much slower its best is, and never to nothing. The same calls give the
/// same turns.
class Turns {
public:
    explicit Turns(std::size_t families) : families_(families) {}

    /// A trial's time became known; nullopt: it failed.
    void report(std::size_t family, std::optional<double> milliseconds);

    /// A family that has nothing more to propose.
    void leave(std::size_t family) { families_[family].gone = true; }

    /// The family whose turn it is; none when all have left.
    [[nodiscard]] std::optional<std::size_t> next();

    /// A proposal that a family made out of turn.
    void count_proposal(std::size_t family) { ++families_[family].proposals; }

private:
    struct Family {
        std::int64_t proposals = 0;
        std::int64_t right = 0;
        std::int64_t reported = 0;
        std::optional<double> best;
        double credit = 0;
        bool gone = false;
    };

    [[nodiscard]] static bool is_new(const Family& family);
    [[nodiscard]] std::optional<double> best() const;
    [[nodiscard]] static double weight(const Family& family, std::optional<double> best);

    std::vector<Family> families_;
};

}  // namespace tconv
