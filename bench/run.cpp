#include "bench/run.hpp"

namespace tconv {

std::optional<double> speed_up(const BenchResult& result) {
    if (!result.ours || !result.peer || !(result.ours->timing.median > 0)) return std::nullopt;
    return result.peer->timing.median / result.ours->timing.median;
}

double share_of_limit(const BenchResult& result, const Contestant& contestant) {
    return contestant.timing.median > 0 ? result.limit_milliseconds / contestant.timing.median : 0;
}

}  // namespace tconv
