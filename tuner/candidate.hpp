#pragma once

#include <string>

#include "core/config.hpp"
#include "core/launch_plan.hpp"
#include "core/problem.hpp"

namespace tconv {

/// One thing to try: plain data, so that it can cross a process boundary.
struct Candidate {
    Problem problem;
    std::string template_name;     ///< family: "direct"
    Config config;                 ///< the parameters' values
    LaunchPlan plan;               ///< names the template's file and holds the derived constants
    double tolerance = 1e-4;       ///< largest error that counts as right
    double best_milliseconds = 0;  ///< best time so far, 0 when there is none: a far slower candidate is dropped early
};

}  // namespace tconv
