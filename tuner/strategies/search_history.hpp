#pragma once

#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tuner/strategies/config_table.hpp"
#include "tuner/strategies/random.hpp"

namespace tconv {

/// What is known of a table's rows: which were proposed, and how those reported did. Shared by the strategies that a
/// search is composed of.
class SearchHistory {
public:
    /// A failed config is slower than any.
    static constexpr double k_failed = std::numeric_limits<double>::infinity();

    /// `table` outlives the object.
    SearchHistory(const ConfigTable& table, std::uint64_t seed);

    [[nodiscard]] const ConfigTable& table() const { return table_; }
    [[nodiscard]] Random& random() { return random_; }

    [[nodiscard]] bool is_proposed(std::size_t row) const { return proposed_[row]; }
    /// Marks the row and returns its config.
    [[nodiscard]] Config propose(std::size_t row);
    /// A row that was not proposed yet, each as likely; nothing when there is none.
    [[nodiscard]] std::optional<std::size_t> draw();

    void report(const Config& config, std::optional<double> milliseconds);
    /// Milliseconds, k_failed, or nothing while there is no report.
    [[nodiscard]] std::optional<double> time_of(std::size_t row) const;
    /// Rows that ran, in the order of their first reports.
    [[nodiscard]] const std::vector<std::size_t>& timed() const { return timed_; }

private:
    const ConfigTable& table_;
    Random random_;
    std::vector<bool> proposed_;
    std::vector<std::size_t> deck_;  // rows; those before drawn_ were drawn, the rest is shuffled as it is drawn
    std::size_t drawn_ = 0;
    std::unordered_map<std::size_t, double> times_;
    std::vector<std::size_t> timed_;
};

}  // namespace tconv
