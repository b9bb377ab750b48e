#include "cache/front.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "samples.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;

namespace {

std::vector<Trial> random_trials(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Trial> trials;
    for (int number = 0; number < 40; ++number) {
        const double error = std::pow(10.0, -1.0 - static_cast<double>(random() % 12) / 2);
        Trial trial = sample_trial(sample_problem(), number, 1.0 + static_cast<double>(random() % 30), error);
        trial.outcome.timing.rank = random() % 5 == 0 ? trial.outcome.timing.median * 1.5 : 0;
        trial.outcome.timing.dropped_early = random() % 4 == 0;
        trial.strict = random() % 3 == 0;
        if (random() % 6 == 0) trial.outcome.kind = OutcomeKind::wrong_result;
        trials.push_back(trial);
    }
    return trials;
}

/// By the definition: the first by rank within the tolerance.
const Trial* served(const std::vector<const Trial*>& ranked, double tolerance, bool strict) {
    const auto found = std::find_if(ranked.begin(), ranked.end(), [&](const Trial* trial) {
        return trial->outcome.error.relative <= tolerance && (trial->strict || !strict);
    });
    return found == ranked.end() ? nullptr : *found;
}

}  // namespace

TEST_CASE("along a front times rise and errors fall, and no valid trial beats one of its members") {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        INFO("seed " << seed);
        const std::vector<Trial> trials = random_trials(seed);
        const auto order = ranked(trials);
        const auto front = pareto_front(order);
        REQUIRE(!front.empty());
        CHECK(front.front() == order.front());
        for (std::size_t i = 1; i < front.size(); ++i) {
            const Outcome& before = front[i - 1]->outcome;
            const Outcome& here = front[i]->outcome;
            CHECK(ranking_milliseconds(before.timing) <= ranking_milliseconds(here.timing));
            CHECK(before.error.relative > here.error.relative);
        }
        for (const Trial* member : front) {
            CHECK(std::none_of(order.begin(), order.end(), [&](const Trial* other) {
                return other->outcome.error.relative <= member->outcome.error.relative &&
                       ranks_before(other->outcome.timing, member->outcome.timing);
            }));
        }
    }
}

TEST_CASE("the winners at some tolerance are exactly what requests are served") {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        INFO("seed " << seed);
        const std::vector<Trial> trials = random_trials(seed);
        const auto order = ranked(trials);
        std::vector<const Trial*> wanted;
        for (const bool strict : {false, true}) {
            for (const Trial& trial : trials) {
                const Trial* winner = served(order, trial.outcome.error.relative, strict);
                if (winner != nullptr && std::find(wanted.begin(), wanted.end(), winner) == wanted.end())
                    wanted.push_back(winner);
            }
        }
        auto winners = winners_at_some_tolerance(order);
        std::sort(winners.begin(), winners.end());
        std::sort(wanted.begin(), wanted.end());
        CHECK(winners == wanted);
    }
}

TEST_CASE("what failed, and what has no number for its error, is on no front") {
    std::vector<Trial> trials{sample_trial(sample_problem(), 1, 1.0), sample_trial(sample_problem(), 2, 2.0)};
    trials[0].outcome.kind = OutcomeKind::crashed;
    trials[1].outcome.error.relative = std::numeric_limits<double>::quiet_NaN();
    CHECK(ranked(trials).size() == 1);
    CHECK(pareto_front(ranked(trials)).empty());
    CHECK(winners_at_some_tolerance(ranked(trials)).empty());
    CHECK(pareto_front({}).empty());
}
