#include "cache/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/launch_plan.hpp"

namespace tconv {
namespace {

// The trial's own columns, in the order in which they are bound and read.
constexpr std::array<const char*, 28> k_columns{"config",
                                                "strict",
                                                "reach",
                                                "outcome",
                                                "reason",
                                                "error_relative",
                                                "error_absolute",
                                                "error_index",
                                                "error_distribution",
                                                "median_ms",
                                                "minimum_ms",
                                                "spread",
                                                "samples_ms",
                                                "dropped_early",
                                                "rank_ms",
                                                "remark",
                                                "registers",
                                                "static_shared_bytes",
                                                "local_bytes",
                                                "blocks_per_multiprocessor",
                                                "compile_ms",
                                                "plan",
                                                "binary_key",
                                                "driver_version",
                                                "compiler_version",
                                                "digest",
                                                "created",
                                                "id"};
constexpr std::size_t k_bound_columns = 26;  // without created and id, which the database sets

struct ProblemBinder {
    sqlite::Statement& statement;
    bool with_batch;

    void operator()(const char*, const Extents& extents) {
        for (const std::int64_t extent : extents)
            statement.bind(extent);
    }
    template <class Field>
    void operator()(const char* name, const Field& field) {
        if constexpr (std::is_enum_v<Field>) {
            statement.bind(to_string(field));
        } else if (with_batch || std::string_view(name) != "batch") {
            statement.bind(field);
        }
    }
};

/// Names become source text in front of a kernel, so a name from a file must be a name and nothing else.
void check_names(const Config& config) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    for (const auto& [name, value] : config) {
        const bool plain = !name.empty() && letter(name[0]) &&
                           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
        if (!plain) throw Error(ErrorKind::bad_input, fmt::format("config parameter '{}' is no identifier", name));
    }
}

std::vector<double> samples_from(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_array()) throw Error(ErrorKind::bad_input, "samples are no JSON array");
    std::vector<double> samples;
    for (const auto& sample : json) {
        if (!sample.is_number() && !sample.is_null()) throw Error(ErrorKind::bad_input, "a sample is no number");
        samples.push_back(sample.is_null() ? std::numeric_limits<double>::quiet_NaN() : sample.get<double>());
    }
    return samples;
}

int small_integer(std::int64_t value) {
    if (value < 0 || value > std::numeric_limits<int>::max()) {
        throw Error(ErrorKind::bad_input, fmt::format("a count ({}) is out of range", value));
    }
    return static_cast<int>(value);
}

/// Reads columns one after the other.
class Reader {
public:
    Reader(const sqlite::Statement& row, int first) : row_(row), column_(first) {}
    std::int64_t integer() { return row_.integer(column_++); }
    double real() { return row_.real(column_++); }
    std::string text() { return row_.text(column_++); }

private:
    const sqlite::Statement& row_;
    int column_;
};

Outcome read_outcome(Reader& reader) {
    Outcome outcome;
    outcome.kind = parse_outcome_kind(reader.text());
    outcome.reason = reader.text();
    outcome.error.relative = reader.real();
    outcome.error.absolute = reader.real();
    outcome.error.worst_index = reader.integer();
    outcome.error.distribution = reader.text();
    outcome.timing.median = reader.real();
    outcome.timing.minimum = reader.real();
    outcome.timing.spread = reader.real();
    outcome.timing.samples = samples_from(reader.text());
    outcome.timing.dropped_early = reader.integer() != 0;
    const double rank = reader.real();
    if (rank != outcome.timing.median) outcome.timing.rank = rank;
    outcome.timing.remark = reader.text();
    outcome.resources.registers = small_integer(reader.integer());
    outcome.resources.static_shared_bytes = reader.integer();
    outcome.resources.local_bytes = reader.integer();
    outcome.resources.blocks_per_multiprocessor = small_integer(reader.integer());
    outcome.compile_milliseconds = reader.real();
    const std::string plan = reader.text();
    if (!plan.empty()) outcome.plan = launch_plan_from_json(plan);
    check_names(outcome.plan.constants);
    outcome.binary_key = reader.text();
    return outcome;
}

/// Hash of what a trial says, from one end of the row to the other, whatever the numbers of the rows that it refers to.
/// It finds damage to the file, which SQLite does not; it is no signature.
std::string digest_of(const Trial& t, const std::string& device_key) {
    const Outcome& o = t.outcome;
    std::string text = key(t.problem);
    const auto add = [&](const auto& value) { text += fmt::format("\n{}", value); };
    add(device_key);
    add(t.template_name);
    add(t.template_hash);
    add(to_json(t.config));
    add(to_string(o.kind));
    add(o.reason);
    add(o.error.relative);
    add(o.error.absolute);
    add(o.error.worst_index);
    add(o.error.distribution);
    add(o.timing.median);
    add(o.timing.minimum);
    add(o.timing.spread);
    for (const double sample : o.timing.samples)
        add(sample);
    add(o.timing.dropped_early);
    add(ranking_milliseconds(o.timing));
    add(o.timing.remark);
    add(o.resources.registers);
    add(o.resources.static_shared_bytes);
    add(o.resources.local_bytes);
    add(o.resources.blocks_per_multiprocessor);
    add(o.compile_milliseconds);
    add(o.plan.launches.empty() ? std::string() : to_json(o.plan));
    add(o.binary_key);
    add(t.driver_version);
    add(t.compiler_version);
    if (!t.strict)
        add("not strict");  // silent where it is: rows of older versions, strict all of them, keep their digests
    return content_hash(text);
}

}  // namespace

void bind_problem(sqlite::Statement& statement, const Problem& problem, bool with_batch) {
    visit_fields(problem, ProblemBinder{statement, with_batch});
}

Problem problem_from(const std::string& key_column) {
    Problem problem = parse_key(key_column);
    validate(problem);
    return problem;
}

const std::string& store_trial_sql() {
    static const std::string sql = [] {
        std::string names;
        std::string values;
        std::string updates;
        for (std::size_t i = 0; i < k_bound_columns; ++i) {
            names += fmt::format(", {}", k_columns[i]);
            values += ", ?";
            updates += fmt::format("{0} = excluded.{0}, ", k_columns[i]);
        }
        return fmt::format(
            "INSERT INTO trial (problem, device, template{}, created) "
            "VALUES (?, ?, ?{}, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) "
            "ON CONFLICT (problem, device, template, config) DO UPDATE SET {}created = excluded.created RETURNING id",
            names, values, updates);
    }();
    return sql;
}

void bind_trial(sqlite::Statement& statement, const Trial& trial, const std::string& device_key) {
    const Outcome& outcome = trial.outcome;
    statement.bind(to_json(trial.config))
        .bind(trial.strict)
        .bind(trial.reach)
        .bind(to_string(outcome.kind))
        .bind(outcome.reason);
    statement.bind(outcome.error.relative).bind(outcome.error.absolute);
    statement.bind(outcome.error.worst_index).bind(outcome.error.distribution);
    statement.bind(outcome.timing.median).bind(outcome.timing.minimum).bind(outcome.timing.spread);
    statement.bind(nlohmann::json(outcome.timing.samples).dump()).bind(outcome.timing.dropped_early);
    statement.bind(ranking_milliseconds(outcome.timing)).bind(outcome.timing.remark);
    statement.bind(outcome.resources.registers).bind(outcome.resources.static_shared_bytes);
    statement.bind(outcome.resources.local_bytes).bind(outcome.resources.blocks_per_multiprocessor);
    statement.bind(outcome.compile_milliseconds);
    if (outcome.plan.launches.empty()) {
        statement.bind_null();
    } else {
        statement.bind(to_json(outcome.plan));
    }
    statement.bind(outcome.binary_key).bind(trial.driver_version).bind(trial.compiler_version);
    statement.bind(digest_of(trial, device_key));
}

const std::string& select_trial_sql() {
    static const std::string sql = [] {
        std::string list = "p.key, p.name, d.key, s.name, s.source_hash";
        for (const char* const column : k_columns)
            list += fmt::format(", t.{}", column);
        return list;
    }();
    return sql;
}
static_assert(k_trial_column_count == 5 + k_columns.size());

Trial read_trial(const sqlite::Statement& row, const Problem& problem) {
    Trial trial;
    trial.problem = problem;
    trial.problem_name = row.text(1);
    trial.template_name = row.text(3);
    trial.template_hash = row.text(4);
    Reader reader(row, 5);
    trial.config = config_from_json(reader.text());
    check_names(trial.config);
    trial.strict = reader.integer() != 0;
    trial.reach = reader.real();
    trial.outcome = read_outcome(reader);
    trial.driver_version = reader.text();
    trial.compiler_version = reader.text();
    if (const std::string digest = reader.text(); !digest.empty() && digest != digest_of(trial, row.text(2)))
        throw Error(ErrorKind::bad_input, "its row is not as it was stored");
    trial.created = reader.text();
    trial.id = reader.integer();
    return trial;
}

void remove_binary_without_trial(sqlite::Connection& connection, const std::string& key) {
    connection
        .query(
            "DELETE FROM binary WHERE key = ?1 AND NOT EXISTS "
            "(SELECT 1 FROM trial WHERE binary_key = ?1 AND binary_key <> '')")
        .bind(key)
        .run();
}

}  // namespace tconv
