#include "cache/front.hpp"

#include <algorithm>
#include <iterator>

namespace tconv {

bool comes_before(const Trial& a, const Trial& b) {
    if (ranks_before(a.outcome.timing, b.outcome.timing)) return true;
    if (ranks_before(b.outcome.timing, a.outcome.timing)) return false;
    return a.outcome.error.relative < b.outcome.error.relative;
}

std::vector<const Trial*> ranked(const std::vector<Trial>& trials) {
    std::vector<const Trial*> order;
    for (const Trial& trial : trials) {
        if (trial.outcome.kind == OutcomeKind::valid && trial.outcome.timing.median > 0) order.push_back(&trial);
    }
    std::stable_sort(order.begin(), order.end(), [](const Trial* a, const Trial* b) { return comes_before(*a, *b); });
    return order;
}

std::vector<const Trial*> pareto_front(const std::vector<const Trial*>& ranked) {
    std::vector<const Trial*> front;
    double least_error = std::numeric_limits<double>::infinity();
    double last_time = 0;
    for (const Trial* trial : ranked) {
        const double error = trial->outcome.error.relative;
        const double time = ranking_milliseconds(trial->outcome.timing);
        if (!(error < least_error)) continue;
        least_error = error;
        if (time < last_time) continue;
        last_time = time;
        front.push_back(trial);
    }
    return front;
}

std::vector<const Trial*> winners_at_some_tolerance(const std::vector<const Trial*>& ranked) {
    FrontWalk walk;
    std::vector<const Trial*> winners;
    std::copy_if(ranked.begin(), ranked.end(), std::back_inserter(winners),
                 [&](const Trial* trial) { return walk.wins(trial->outcome.error.relative, trial->strict); });
    return winners;
}

}  // namespace tconv
