#pragma once

#include <optional>
#include <vector>

#include "cache/database.hpp"

namespace tconv {

/// Settles who is first among finalists timed in turn. Those whose medians do not lie apart from the fastest one's tie
/// with it; among them the incumbent wins, else the one with the fewest registers. A tied trial that is faster than the
/// winner by chance gets a rank just behind it.
void settle_tie(std::vector<Trial>& finalists, const std::optional<Trial>& incumbent);

}  // namespace tconv
