#include "cache/quarantine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "cache/open.hpp"
#include "cache/rows.hpp"
#include "cache/sqlite.hpp"
#include "core/error.hpp"

namespace tconv {
namespace {

// The first condition is that of the index over failures, word for word, or SQLite does not use it.
constexpr const char* k_wanted =
    "outcome NOT IN ('valid', 'too_slow') AND "
    "(CASE ?1 WHEN '' THEN outcome NOT IN ('compile_error', 'resource_error') ELSE outcome = ?1 END)";

std::string wanted_outcome(const QuarantineFilter& filter) {
    return filter.outcome ? std::string(to_string(*filter.outcome)) : "";
}

/// The problems that a query is run for, one after the other: an empty key stands for all.
std::vector<std::string> problems_of(const QuarantineFilter& filter) {
    return filter.problems ? *filter.problems : std::vector<std::string>{""};
}

const std::string& list_sql() {
    static const std::string sql = fmt::format(
        "SELECT t.id, p.key, p.name, d.key, s.name, s.source_hash, t.config, t.outcome, t.reason, t.driver_version, "
        "t.compiler_version, t.created, strftime('%s', 'now') - strftime('%s', t.created) "
        "FROM trial t JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device "
        "JOIN template s ON s.id = t.template WHERE {} AND (?2 = '' OR p.key = ?2)",
        k_wanted);
    return sql;
}

QuarantinedTrial read_row(const sqlite::Statement& row) {
    QuarantinedTrial trial;
    trial.id = row.integer(0);
    trial.problem = row.text(1);
    trial.problem_name = row.text(2);
    trial.device = row.text(3);
    trial.template_name = row.text(4);
    trial.template_hash = row.text(5);
    trial.config = config_from_json(row.text(6));
    trial.outcome = parse_outcome_kind(row.text(7));
    trial.reason = row.text(8);
    trial.driver_version = row.text(9);
    trial.compiler_version = row.text(10);
    trial.created = row.text(11);
    trial.age_seconds = std::max<std::int64_t>(row.integer(12), 0);
    return trial;
}

}  // namespace

bool is_failure(OutcomeKind kind) {
    return kind != OutcomeKind::valid && kind != OutcomeKind::too_slow;
}

std::vector<QuarantinedTrial> list_quarantine(const std::filesystem::path& database, const QuarantineFilter& filter) {
    const auto connection = open_database(database, OpenMode::read_only);
    std::vector<QuarantinedTrial> result;
    for (const std::string& problem : problems_of(filter)) {
        sqlite::Statement rows = connection->query(list_sql());
        rows.bind(wanted_outcome(filter)).bind(problem);
        while (rows.step()) {
            try {
                result.push_back(read_row(rows));
            } catch (const Error& error) {
                if (error.kind() != ErrorKind::bad_input) throw;
            }
        }
    }
    std::sort(result.begin(), result.end(), [](const QuarantinedTrial& a, const QuarantinedTrial& b) {
        return std::tie(a.created, a.id) > std::tie(b.created, b.id);
    });
    return result;
}

std::int64_t clear_quarantine(const std::filesystem::path& database, const QuarantineFilter& filter) {
    static const std::string remove = fmt::format(
        "DELETE FROM trial WHERE {} AND (?2 = '' OR problem = (SELECT id FROM problem WHERE key = ?2)) "
        "RETURNING binary_key",
        k_wanted);
    const auto connection = open_database(database, OpenMode::read_write);
    sqlite::Transaction transaction(*connection);
    std::vector<std::string> binaries;
    std::int64_t removed = 0;
    for (const std::string& problem : problems_of(filter)) {
        sqlite::Statement rows = connection->query(remove);
        rows.bind(wanted_outcome(filter)).bind(problem);
        for (; rows.step(); ++removed) {
            if (const std::string binary = rows.text(0); !binary.empty()) binaries.push_back(binary);
        }
    }
    for (const std::string& binary : binaries)
        remove_binary_without_trial(*connection, binary);
    transaction.commit();
    return removed;
}

}  // namespace tconv
