#include "tuner/trial_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "tuner/evaluate.hpp"

namespace tconv {

TrialLog::TrialLog(Database* database, const DeviceInfo& device, const Problem& problem, double tolerance)
    : database_(database), device_(device), problem_(problem), tolerance_(tolerance) {}

bool TrialLog::is_good(const Trial& trial) const {
    return trial.outcome.kind == OutcomeKind::valid && trial.outcome.error.relative <= tolerance_;
}

void TrialLog::recall(const std::string& template_name, const std::string& template_hash) {
    if (database_ == nullptr) return;
    try {
        for (Trial& trial : database_->trials(problem_, device_key(device_), template_name, template_hash)) {
            const bool may_be_right =
                trial.outcome.kind == OutcomeKind::wrong_result && trial.outcome.error.relative <= tolerance_;
            if (!may_be_right) trials_.push_back(std::move(trial));
        }
        const std::optional<double> best = best_milliseconds();
        std::erase_if(trials_, [&](const Trial& trial) {
            return trial.outcome.kind == OutcomeKind::too_slow &&
                   (!best || trial.outcome.timing.median < *best * k_hopeless_factor);
        });
    } catch (const Error& error) {
        warn(fmt::format("stored trials cannot be read: {}", error.what()));
    }
}

void TrialLog::record(const Trial& trial, const std::string& binary) {
    const auto same = [&](const Trial& other) {
        return other.template_name == trial.template_name && other.config == trial.config;
    };
    auto found = std::find_if(trials_.begin(), trials_.end(), same);
    if (found == trials_.end()) found = trials_.insert(trials_.end(), trial);
    *found = trial;
    if (database_ == nullptr) return;
    try {
        found->id = database_->record(device_, trial, binary);
    } catch (const Error& error) {
        warn(fmt::format("a trial could not be stored: {}", error.what()));
    }
}

std::optional<double> TrialLog::search_time(const Trial& trial) const {
    if (is_good(trial) || trial.outcome.kind == OutcomeKind::too_slow) return trial.outcome.timing.median;
    return std::nullopt;
}

std::vector<const Trial*> TrialLog::ranking() const {
    std::vector<const Trial*> good;
    for (const Trial& trial : trials_) {
        if (is_good(trial)) good.push_back(&trial);
    }
    std::stable_sort(good.begin(), good.end(),
                     [](const Trial* a, const Trial* b) { return ranks_before(a->outcome.timing, b->outcome.timing); });
    return good;
}

std::optional<double> TrialLog::best_milliseconds() const {
    const auto good = ranking();
    return good.empty() ? std::nullopt : std::optional(good.front()->outcome.timing.median);
}

std::map<OutcomeKind, std::int64_t> TrialLog::failures() const {
    std::map<OutcomeKind, std::int64_t> counts;
    for (const Trial& trial : trials_) {
        if (is_good(trial) || trial.outcome.kind == OutcomeKind::too_slow) continue;
        ++counts[trial.outcome.kind == OutcomeKind::valid ? OutcomeKind::wrong_result : trial.outcome.kind];
    }
    return counts;
}

void TrialLog::warn(const std::string& sentence) {
    if (std::find(warnings_.begin(), warnings_.end(), sentence) == warnings_.end()) warnings_.push_back(sentence);
}

}  // namespace tconv
