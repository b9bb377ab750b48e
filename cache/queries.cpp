#include "cache/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cache/rows.hpp"
#include "cache/schema.hpp"

namespace tconv {
namespace {

constexpr std::string_view k_trials =
    "trial t JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device JOIN template s ON s.id = t.template ";

/// The right ones of a problem and device.
constexpr std::string_view k_right =
    "p.key = ?1 AND d.key = ?2 AND t.outcome = 'valid' AND t.plan IS NOT NULL AND t.median_ms > 0 "
    "AND t.error_relative <= ?3 AND t.strict >= ?4 ";

}  // namespace

const std::string& insert_problem_sql() {
    static const std::string sql = [] {
        const std::string columns = problem_columns();
        std::string marks = "?";
        for (auto i = std::count(columns.begin(), columns.end(), ','); i > 0; --i)
            marks += ", ?";
        return fmt::format("INSERT INTO problem ({}, key, name) VALUES ({}, ?, '') ON CONFLICT (key) DO NOTHING",
                           columns, marks);
    }();
    return sql;
}

const std::string& other_batches_sql() {
    static const std::string sql =
        fmt::format("SELECT key FROM problem WHERE {} = ?", problem_columns("", " = ? AND ", "batch"));
    return sql;
}

const std::string& trials_sql() {
    static const std::string sql = fmt::format(
        "SELECT {} FROM {} "
        "WHERE p.key = ?1 AND d.key = ?2 AND (?3 = '' OR s.name = ?3) AND (?4 = '' OR s.source_hash = ?4) "
        "ORDER BY t.id",
        select_trial_sql(), k_trials);
    return sql;
}

const std::string& former_trials_sql() {
    static const std::string sql = fmt::format(
        "SELECT {} FROM {} WHERE {} AND s.name = ?5 AND s.source_hash <> ?6 ORDER BY t.median_ms, t.error_relative",
        select_trial_sql(), k_trials, k_right);
    return sql;
}

const std::string& winner_sql() {
    static const std::string sql = fmt::format(
        "SELECT {}, b.size, b.content_hash, b.compressed FROM {} LEFT JOIN binary b ON b.key = t.binary_key WHERE {} "
        "ORDER BY t.dropped_early, t.rank_ms, t.error_relative",
        select_trial_sql(), k_trials, k_right);
    return sql;
}

const std::string& list_sql() {
    static const std::string sql =
        "WITH summary AS (SELECT problem, device, count(*) AS trials, sum(outcome = 'valid') AS valid, "
        "                 max(created) AS updated FROM trial GROUP BY problem, device) "
        "SELECT p.key, p.name, d.key, summary.trials, summary.valid, summary.updated, best.median_ms, "
        "best.error_relative, "
        "       s.name "
        "FROM summary JOIN problem p ON p.id = summary.problem JOIN device d ON d.id = summary.device "
        "LEFT JOIN trial best ON best.id = ("
        "    SELECT t.id FROM trial t WHERE t.problem = summary.problem AND t.device = summary.device "
        "    AND t.outcome = 'valid' AND t.plan IS NOT NULL AND t.median_ms > 0 ORDER BY t.dropped_early, t.rank_ms, "
        "t.error_relative "
        "    LIMIT 1) "
        "LEFT JOIN template s ON s.id = best.template ORDER BY summary.updated DESC, p.id DESC";
    return sql;
}

}  // namespace tconv
