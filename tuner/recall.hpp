#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/contest.hpp"
#include "tuner/trial_log.hpp"

namespace tconv {

/// A config that was among the best with a former version of its family's kernels.
struct FormerWinner {
    std::string family;
    Config config;
};

/// Takes up the stored trials of a contest's families and reports them to it. What was best with former kernels and was
/// not tried with the present ones is then proposed first; given back in that order.
std::vector<FormerWinner> recall_trials(TrialLog& log, Contest& contest);

/// How many of `budget` trials the recalled ones stand for, in a session that searches as far as `reach`. What one
/// within a stricter tolerance tried says little of what this one may; and of a family without trials, the others' say
/// nothing.
[[nodiscard]] std::int64_t count_of_recalled(const TrialLog& log, const Contest& contest, double reach,
                                             std::int64_t budget);

}  // namespace tconv
