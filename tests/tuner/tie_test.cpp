#include "tuner/tie.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tuner/timer.hpp"

using namespace tconv;

namespace {

Trial finalist(std::int64_t tile, double middle, double spread, int registers) {
    Trial trial;
    trial.template_name = "direct";
    trial.config = {{"tile", tile}};
    trial.outcome.resources.registers = registers;
    std::vector<double> samples;
    for (const double step : {-2.0, -1.0, 0.0, 1.0, 2.0})
        samples.push_back(middle * (1 + spread * step));
    trial.outcome.timing = summarise(samples);
    return trial;
}

/// The tile of the one that ranks first once ties are settled.
std::int64_t winner(std::vector<Trial> finalists, const std::optional<Trial>& incumbent = std::nullopt) {
    settle_tie(finalists, incumbent);
    return std::min_element(
               finalists.begin(), finalists.end(),
               [](const Trial& a, const Trial& b) { return ranks_before(a.outcome.timing, b.outcome.timing); })
        ->config.at("tile");
}

}  // namespace

TEST_CASE("the clearly fastest wins whatever else speaks for the others") {
    const Trial slow = finalist(1, 1.1, 0.001, 20);
    CHECK(winner({slow, finalist(2, 1.0, 0.001, 255)}, slow) == 2);
}

TEST_CASE("a tie goes to the incumbent, then to fewer registers, then to the faster") {
    const Trial incumbent = finalist(1, 1.001, 0.01, 200);
    CHECK(winner({finalist(2, 1.0, 0.01, 100), incumbent, finalist(3, 1.002, 0.01, 50)}, incumbent) == 1);
    CHECK(winner({finalist(2, 1.0, 0.01, 100), incumbent, finalist(3, 1.002, 0.01, 50)}) == 3);
    CHECK(winner({finalist(2, 1.001, 0.01, 50), finalist(3, 1.0, 0.01, 50)}) == 3);
    // Few registers do not help one that is apart from the fastest.
    CHECK(winner({finalist(2, 1.0, 0.01, 100), finalist(3, 1.5, 0.01, 10)}) == 2);
}

TEST_CASE("a settled tie changes no measured time, and can be settled again") {
    std::vector<Trial> finalists{finalist(2, 1.0, 0.01, 100), finalist(3, 1.002, 0.01, 50)};
    const std::vector<Trial> before = finalists;
    settle_tie(finalists, std::nullopt);
    settle_tie(finalists, std::nullopt);
    for (std::size_t i = 0; i < finalists.size(); ++i) {
        CHECK(finalists[i].outcome.timing.median == before[i].outcome.timing.median);
        CHECK(finalists[i].outcome.timing.samples == before[i].outcome.timing.samples);
    }
    CHECK(finalists[0].outcome.timing.rank > 1.002);
    CHECK(finalists[1].outcome.timing.rank == 0);
}
