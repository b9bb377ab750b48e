#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "core/config.hpp"
#include "tuner/strategies/random.hpp"

namespace tconv {

/// Configs of a space whose file guesses their times: of a pool of random draws the most promising first, changed one
/// parameter at a time for as long as the guess becomes better, yet each unlike those that came before. Which one is
/// the best of a part of the pool, so that a wrong guess does not rule.
class PromisingDraws {
public:
    using Draw = std::function<std::optional<Config>()>;  ///< a valid config, nothing when there is none
    using Guess = std::function<double(const Config&)>;   ///< its time, in any unit
    using IsProposed = std::function<bool(const Config&)>;
    using Neighbour =
        std::function<std::optional<Config>(const Config&)>;  ///< a valid one that differs in one parameter

    struct Space {
        Draw draw;
        Guess guess;
        IsProposed is_proposed;
        Neighbour neighbour;
    };

    /// The next one that was not proposed; nothing when `draw` gives none that is new.
    [[nodiscard]] std::optional<Config> next(Random& random, const Space& space);

private:
    struct Entry {
        Config config;
        std::size_t hash;
        double time;
    };

    void fill(const Space& space);
    [[nodiscard]] std::optional<Entry> take_best(Random& random, const Space& space);
    [[nodiscard]] Config improve(Entry entry, const Space& space) const;
    [[nodiscard]] bool is_new_in_kind(const Config& config) const;

    std::vector<Entry> pool_;
    std::vector<Config> given_;
};

}  // namespace tconv
