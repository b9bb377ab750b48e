#pragma once

#include <limits>
#include <vector>

#include "cache/database.hpp"

namespace tconv {

/// Tells which trials win at some tolerance, of the trials of one problem and device that can be served, shown one
/// after the other from the one that ranks first on.
class FrontWalk {
public:
    /// Whether the next trial wins: more accurate than all before it, or than all before it that are strict as it is.
    [[nodiscard]] bool wins(double error, bool strict) {
        const bool strictly = strict && error < least_strict_error_;
        const bool freely = error < least_error_;
        if (strictly) least_strict_error_ = error;
        if (freely) least_error_ = error;
        return strictly || freely;
    }

private:
    double least_error_ = std::numeric_limits<double>::infinity();
    double least_strict_error_ = std::numeric_limits<double>::infinity();
};

/// The order in which trials of one problem and device are served: by rank, on a tie the more accurate first.
[[nodiscard]] bool comes_before(const Trial& a, const Trial& b);

/// Valid trials with a time in that order; earlier ones first where it is the same.
[[nodiscard]] std::vector<const Trial*> ranked(const std::vector<Trial>& trials);

/// The Pareto front of time against error: of trials by rank, those that are more accurate than all before. Along it
/// ranking times do not fall and errors do: a trial that was dropped after one sample and seems faster than one before
/// it is left out.
[[nodiscard]] std::vector<const Trial*> pareto_front(const std::vector<const Trial*>& ranked);

/// Of trials by rank, those that win at some tolerance, freely or among the strict ones.
[[nodiscard]] std::vector<const Trial*> winners_at_some_tolerance(const std::vector<const Trial*>& ranked);

}  // namespace tconv
