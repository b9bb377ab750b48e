#pragma once

#include <functional>
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
    /// `database` may be null and outlives the object. `compiler_version` and the device's driver are the environment
    /// in which trials are made now. `strict`: only trials of plain fp32 arithmetic count as right.
    TrialLog(Database* database, const DeviceInfo& device, const Problem& problem, double tolerance,
             const std::string& compiler_version, bool strict = false);

    /// Takes up the stored trials of a template, right ones all and others where `admits` takes their config (absent:
    /// it takes all): what this session would never propose is none of its trials. Left out, to be evaluated again, is
    /// a trial that
    /// - failed with another driver or compiler (a device without a driver version is described, not present: there
    ///   the compiler alone counts),
    /// - was wrong only by a stricter tolerance, or
    /// - was too slow only beside a best one of a looser tolerance.
    void recall(const std::string& template_name, const std::string& template_hash,
                const std::function<bool(const Config&)>& admits = {});

    /// Shows `visit` the right trials of other versions of a template, the fastest first, until it returns false.
    void visit_former(const std::string& template_name, const std::string& template_hash,
                      const std::function<bool(Trial)>& visit);

    /// Adds or replaces (same template and config) a trial and stores it. Where that fails it is kept, and stored with
    /// one of the next that can be.
    void record(const Trial& trial, const std::string& binary);

    /// Tries once more to store what could not be stored so far; a warning says what is lost.
    void finish();

    [[nodiscard]] const std::vector<Trial>& trials() const { return trials_; }
    [[nodiscard]] bool holds(const std::string& template_name, const Config& config) const;
    /// Right trials by rank; earlier ones first where that is the same.
    [[nodiscard]] std::vector<const Trial*> ranking() const;
    [[nodiscard]] std::optional<double> best_milliseconds() const;
    /// Trials that are not right, by kind; those that were too slow are no failures.
    [[nodiscard]] std::map<OutcomeKind, std::int64_t> failures() const;
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

    /// The time that the search is told of a trial, also of one that was too slow to be looked at further; none for a
    /// failure.
    [[nodiscard]] std::optional<double> search_time(const Trial& trial) const;

    /// Whether the trial counts as right here: valid, within the tolerance, and strict where that is asked.
    [[nodiscard]] bool is_good(const Trial& trial) const;

    /// Whether the trial is right and would win at some tolerance, freely or among the strict ones: no other right one
    /// that ranks before it is as accurate.
    [[nodiscard]] bool would_win(const Trial& trial) const;

    /// Whether the trial's machine code is stored, or will be; true where the database cannot be asked.
    [[nodiscard]] bool has_code(const Trial& trial) const;

private:
    struct Waiting {
        std::size_t trial;  ///< its place in trials_
        std::string binary;
    };

    [[nodiscard]] bool counts(const Trial& stored) const;
    bool store(const Waiting& one);
    void store_waiting();
    void warn(const std::string& sentence);

    Database* database_;
    DeviceInfo device_;
    Problem problem_;
    double tolerance_;
    bool strict_;
    std::string compiler_version_;
    std::vector<Trial> trials_;
    std::vector<Waiting> waiting_;  ///< not stored yet, oldest first
    std::string last_failure_;
    std::vector<std::string> warnings_;
};

}  // namespace tconv
