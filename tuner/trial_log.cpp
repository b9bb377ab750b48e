#include "tuner/trial_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/front.hpp"
#include "core/error.hpp"
#include "tuner/evaluate.hpp"

namespace tconv {
namespace {

constexpr int k_refusal_patience = 8;  // trials that are refused before the rest waits on

bool is_of(const Trial& trial, const std::string& template_name, const Config& config) {
    return trial.template_name == template_name && trial.config == config;
}

}  // namespace

TrialLog::TrialLog(Database* database, const DeviceInfo& device, const Problem& problem, double tolerance,
                   const std::string& compiler_version, bool strict)
    : database_(database),
      device_(device),
      problem_(problem),
      tolerance_(tolerance),
      strict_(strict),
      compiler_version_(compiler_version) {}

bool TrialLog::is_good(const Trial& trial) const {
    return trial.outcome.kind == OutcomeKind::valid && trial.outcome.error.relative <= tolerance_ &&
           (trial.strict || !strict_);
}

bool TrialLog::would_win(const Trial& trial) const {
    return is_good(trial) && std::none_of(trials_.begin(), trials_.end(), [&](const Trial& other) {
               return is_good(other) && (other.strict || !trial.strict) &&
                      other.outcome.error.relative <= trial.outcome.error.relative && comes_before(other, trial);
           });
}

/// Whether a stored trial says what would come out now.
bool TrialLog::counts(const Trial& stored) const {
    const Outcome& outcome = stored.outcome;
    // A right kernel stays right with another driver, and a slow one slow.
    if (outcome.kind == OutcomeKind::valid || outcome.kind == OutcomeKind::too_slow) return true;
    const bool same_driver = device_.driver_version.empty() || stored.driver_version == device_.driver_version;
    if (!same_driver || stored.compiler_version != compiler_version_) return false;
    return outcome.kind != OutcomeKind::wrong_result || !(outcome.error.relative <= tolerance_);
}

void TrialLog::recall(const std::string& template_name, const std::string& template_hash,
                      const std::function<bool(const Config&)>& admits) {
    if (database_ == nullptr) return;
    try {
        for (Trial& trial : database_->trials(problem_, device_key(device_), template_name, template_hash)) {
            if (!counts(trial)) continue;
            if (is_good(trial) || !admits || admits(trial.config)) trials_.push_back(std::move(trial));
        }
        for (const std::string& damaged : database_->take_warnings())
            warn(damaged);
        const std::optional<double> best = best_milliseconds();
        std::erase_if(trials_, [&](const Trial& trial) {
            return trial.outcome.kind == OutcomeKind::too_slow &&
                   (!best || trial.outcome.timing.median < *best * k_hopeless_factor);
        });
    } catch (const Error& error) {
        warn(fmt::format("stored trials cannot be read: {}", error.what()));
    }
}

void TrialLog::visit_former(const std::string& template_name, const std::string& template_hash,
                            const std::function<bool(Trial)>& visit) {
    if (database_ == nullptr) return;
    try {
        database_->visit_former_trials(problem_, device_key(device_), template_name, template_hash, tolerance_, strict_,
                                       visit);
        for (const std::string& damaged : database_->take_warnings())
            warn(damaged);
    } catch (const Error& error) {
        warn(fmt::format("stored trials of former kernels cannot be read: {}", error.what()));
    }
}

bool TrialLog::holds(const std::string& template_name, const Config& config) const {
    return std::any_of(trials_.begin(), trials_.end(),
                       [&](const Trial& trial) { return is_of(trial, template_name, config); });
}

void TrialLog::record(const Trial& trial, const std::string& binary) {
    auto found = std::find_if(trials_.begin(), trials_.end(),
                              [&](const Trial& other) { return is_of(other, trial.template_name, trial.config); });
    if (found == trials_.end()) found = trials_.insert(trials_.end(), trial);
    *found = trial;
    if (database_ == nullptr) return;
    const auto place = static_cast<std::size_t>(found - trials_.begin());
    const auto waits = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& w) { return w.trial == place; });
    Waiting one{place, binary};
    if (waits != waiting_.end()) {
        // The machine code came with an earlier record of the trial.
        if (one.binary.empty() && !trial.outcome.binary_key.empty()) one.binary = std::move(waits->binary);
        waiting_.erase(waits);
    }
    if (store(one)) {
        store_waiting();
    } else {
        waiting_.push_back(std::move(one));
    }
}

bool TrialLog::has_code(const Trial& trial) const {
    const std::string& key = trial.outcome.binary_key;
    if (key.empty() || database_ == nullptr) return !key.empty();
    const bool waits = std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& one) {
        return !one.binary.empty() && trials_[one.trial].outcome.binary_key == key;
    });
    try {
        return waits || database_->has_machine_code(key);
    } catch (const Error&) {
        return true;
    }
}

bool TrialLog::store(const Waiting& one) {
    Trial& trial = trials_[one.trial];
    try {
        trial.id = database_->record(device_, trial, one.binary);
        return true;
    } catch (const Error& error) {
        last_failure_ = error.what();
        return false;
    }
}

void TrialLog::store_waiting() {
    // One that can never be stored shall not hold up the others, nor a database that takes nothing the session.
    int failures = 0;
    std::erase_if(waiting_, [&](const Waiting& one) {
        const bool stored = failures < k_refusal_patience && store(one);
        if (!stored) ++failures;
        return stored;
    });
}

void TrialLog::finish() {
    store_waiting();
    if (waiting_.empty()) return;
    warn(fmt::format("{} of {} trials could not be stored and will be missing next time: {}", waiting_.size(),
                     trials_.size(), last_failure_));
    waiting_.clear();
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
    std::stable_sort(good.begin(), good.end(), [](const Trial* a, const Trial* b) { return comes_before(*a, *b); });
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
