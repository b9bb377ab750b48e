#include "tuner/recall.hpp"

#include <algorithm>
#include <utility>

#include "cache/front.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_former = 4;
constexpr std::size_t k_former_of_family = 2;

/// The best trials of a family's former kernels, with their configs as they are now, each once. One that is not valid
/// any more is passed over.
std::vector<Trial> best_former(TrialLog& log, const Contest& contest, const std::string& family) {
    std::vector<Trial> best;
    log.visit_former(family, contest.template_hash_of(family), [&](Trial trial) {
        std::optional<Config> config = contest.adapted(family, trial.config);
        const bool is_new = config && std::none_of(best.begin(), best.end(),
                                                   [&](const Trial& better) { return better.config == *config; });
        if (is_new) {
            trial.config = *std::move(config);
            best.push_back(std::move(trial));
        }
        return best.size() < k_former_of_family;
    });
    return best;
}

std::vector<FormerWinner> propose_former(TrialLog& log, Contest& contest) {
    std::vector<Trial> best;
    for (const std::string& family : contest.families()) {
        for (Trial& trial : best_former(log, contest, family))
            best.push_back(std::move(trial));
    }
    std::stable_sort(best.begin(), best.end(), comes_before);
    best.resize(std::min(best.size(), k_former));
    std::vector<FormerWinner> proposed;
    for (Trial& trial : best) {
        if (contest.propose_first(trial.template_name, trial.config))
            proposed.push_back({std::move(trial.template_name), std::move(trial.config)});
    }
    return proposed;
}

}  // namespace

std::vector<FormerWinner> recall_trials(TrialLog& log, Contest& contest) {
    for (const std::string& family : contest.families())
        log.recall(family, contest.template_hash_of(family),
                   [&](const Config& config) { return contest.admits(family, config); });
    for (const Trial& trial : log.trials())
        contest.report(trial.template_name, trial.config, log.search_time(trial));
    return propose_former(log, contest);
}

std::int64_t count_of_recalled(const TrialLog& log, const Contest& contest, double reach, std::int64_t budget) {
    const auto& trials = log.trials();
    const std::int64_t as_far =
        std::count_if(trials.begin(), trials.end(), [&](const Trial& trial) { return trial.reach >= reach; });
    const std::vector<std::string> families = contest.families();
    const bool all_known = std::all_of(families.begin(), families.end(), [&](const std::string& family) {
        return std::any_of(trials.begin(), trials.end(),
                           [&](const Trial& trial) { return trial.template_name == family; });
    });
    return all_known ? as_far : std::min(as_far, budget / 2);
}

}  // namespace tconv
