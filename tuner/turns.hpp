#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tconv {

/// Whose turn it is among families that compete for the trials of a session. Each has a first turn. A family counts as
/// new until it has had some right trials (or many proposals without): a new one's share is that of the fastest, less
/// where it promises to be slow. From then on a family's share falls with the square of how much slower its best is,
/// and never to nothing. The same calls give the same turns.
class Turns {
public:
    explicit Turns(std::size_t families) : families_(families) {}

    /// The shortest time that the family guesses, in a unit that all families share. One that guesses nothing promises
    /// as much as the best.
    void promise(std::size_t family, double guess) { families_[family].guess = guess; }

    /// A trial's time became known; nullopt: it failed.
    void report(std::size_t family, std::optional<double> milliseconds);

    /// A family that has nothing more to propose.
    void leave(std::size_t family) { families_[family].gone = true; }

    /// A family proposed something whosever turn it was.
    void out_of_turn(std::size_t family) { ++families_[family].proposals; }

    /// The family whose turn it is; none when all have left.
    [[nodiscard]] std::optional<std::size_t> next();

private:
    struct Family {
        std::int64_t proposals = 0;
        std::int64_t right = 0;
        std::int64_t reported = 0;
        std::optional<double> best;
        std::optional<double> guess;
        double credit = 0;
        bool gone = false;
    };

    [[nodiscard]] static bool is_new(const Family& family);
    [[nodiscard]] double weight(const Family& family) const;

    std::vector<Family> families_;
};

}  // namespace tconv
