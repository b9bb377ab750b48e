#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/database.hpp"
#include "core/device_info.hpp"

namespace tconv {

/// The trials of one problem on one device: those stored before and those of this session, written through to the
/// database. A database that fails costs a warning, not the session.
class TrialLog {
public:
    /// `database` may be null and outlives the object.
    TrialLog(Database* database, const DeviceInfo& device, const Problem& problem, double tolerance);

    /// Takes up the stored trials of a template. A trial that was wrong only by a stricter tolerance, or too slow only
    /// beside a best one of a looser tolerance, is left out, to be evaluated again.
    void recall(const std::string& template_name, const std::string& template_hash);

    /// Adds or replaces (same template and config) a trial and stores it.
    void record(const Trial& trial, const std::string& binary);

    [[nodiscard]] const std::vector<Trial>& trials() const { return trials_; }
    /// Valid trials within the tolerance, fastest first, those dropped after one sample last; earlier ones first on a
    /// tie.
    [[nodiscard]] std::vector<const Trial*> ranking() const;
    [[nodiscard]] std::optional<double> best_milliseconds() const;
    /// Trials that are not right, by kind; those that were too slow are no failures.
    [[nodiscard]] std::map<OutcomeKind, std::int64_t> failures() const;
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

    /// The time that the search is told of a trial, also of one that was too slow to be looked at further; none for a
    /// failure.
    [[nodiscard]] std::optional<double> search_time(const Trial& trial) const;

    /// Whether the trial counts as right here.
    [[nodiscard]] bool is_good(const Trial& trial) const;

private:
    void warn(const std::string& sentence);

    Database* database_;
    DeviceInfo device_;
    Problem problem_;
    double tolerance_;
    std::vector<Trial> trials_;
    std::vector<std::string> warnings_;
};

}  // namespace tconv
