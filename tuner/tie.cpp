#include "tuner/tie.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "tuner/timer.hpp"

namespace tconv {
namespace {

bool same_config(const Trial& a, const Trial& b) {
    return a.template_name == b.template_name && a.template_hash == b.template_hash && a.config == b.config;
}

// The emulator reports no registers: then the faster one is as good a choice as any.
bool preferred(const Trial& a, const Trial& b, const std::optional<Trial>& incumbent) {
    const auto merit = [&](const Trial& t) {
        const bool stays = incumbent && same_config(t, *incumbent);
        return std::tuple(!stays, t.outcome.resources.registers, t.outcome.timing.median);
    };
    return merit(a) < merit(b);
}

}  // namespace

void settle_tie(std::vector<Trial>& finalists, const std::optional<Trial>& incumbent) {
    if (finalists.empty()) return;
    const auto faster = [](const Trial& a, const Trial& b) {
        return a.outcome.timing.median < b.outcome.timing.median;
    };
    const Timing fastest = std::min_element(finalists.begin(), finalists.end(), faster)->outcome.timing;
    std::vector<Trial*> tied;
    for (Trial& trial : finalists) {
        trial.outcome.timing.rank = 0;
        if (trial.outcome.timing.median == fastest.median || !apart(trial.outcome.timing, fastest))
            tied.push_back(&trial);
    }
    const Trial* winner = *std::min_element(
        tied.begin(), tied.end(), [&](const Trial* a, const Trial* b) { return preferred(*a, *b, incumbent); });
    const double time = winner->outcome.timing.median;
    for (Trial* trial : tied) {
        if (trial != winner && trial->outcome.timing.median <= time)
            trial->outcome.timing.rank = std::nextafter(time, std::numeric_limits<double>::infinity());
    }
}

}  // namespace tconv
