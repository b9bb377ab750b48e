#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tuner/session.hpp"

namespace tconv {

/// Everything that the result holds: the problem, the winner and the runner-up with their raw samples and launch plans,
/// ceilings, counts and warnings. Values that are not there are null.
[[nodiscard]] nlohmann::ordered_json result_json(const TuneResult& result);

/// One trial as stored.
[[nodiscard]] nlohmann::ordered_json trial_json(const Trial& trial);

/// The problem's fields by name, extents over the user's axes, and its key.
[[nodiscard]] nlohmann::ordered_json problem_json(const Problem& problem);

/// Two spaces a level and a newline at the end; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string dump_json(const nlohmann::ordered_json& document);

}  // namespace tconv
