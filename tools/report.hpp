#pragma once

#include <string>
#include <vector>

#include "tuner/session.hpp"

namespace tconv {

/// What a report says besides the results.
struct ReportContext {
    std::string database;  ///< where the trials are stored; empty: nowhere
    int width = 80;        ///< columns of the terminal
};

/// The short table that ends a session: problem, device, winner, time, limit, error, runner-up, trials, device time and
/// where all is stored. Ends with a newline.
[[nodiscard]] std::string report(const TuneResult& result, const ReportContext& context);

/// One line a layer, for runs of several. Ends with a newline.
[[nodiscard]] std::string summary(const std::vector<TuneResult>& results);

/// The parameters of `config` that differ from `other`, for people: "tile_w=16 block_size=64"; all of them when the
/// families differ.
[[nodiscard]] std::string config_difference(const Trial& trial, const Trial& other);

/// Share of the limit that a time reaches: "61 % of the limit".
[[nodiscard]] double share_of_limit(const TuneResult& result);

}  // namespace tconv
