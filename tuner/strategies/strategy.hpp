#pragma once

#include <optional>

#include "core/config.hpp"

namespace tconv {

/// Decides which config of one search space to try next. Several proposals may be outstanding before their reports
/// arrive, in any order. Deterministic for a seed and a sequence of calls.
class Strategy {
public:
    Strategy() = default;
    Strategy(const Strategy&) = delete;
    Strategy& operator=(const Strategy&) = delete;
    virtual ~Strategy() = default;

    /// The next config, never one proposed or reported before; nothing when the space is exhausted.
    [[nodiscard]] virtual std::optional<Config> propose() = 0;

    /// How the config did: milliseconds, or nothing when it failed. Configs that were not proposed may be reported too
    /// (known from before); one that is not in the space is ignored.
    virtual void report(const Config& config, std::optional<double> milliseconds) = 0;
};

}  // namespace tconv
