#include "cache/schema.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/problem.hpp"

namespace tconv {
namespace {

// "tcnv" in the file's header says whose database it is (`file` shows it).
constexpr int k_application_id = 0x74636e76;

// Version 1: with the problem table.
constexpr const char* k_tables = R"sql(
CREATE TABLE device (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,  -- product name, compute capability, multiprocessors
    kind TEXT NOT NULL,        -- cuda or emulator
    name TEXT NOT NULL,
    compute_major INTEGER NOT NULL,
    compute_minor INTEGER NOT NULL,
    multiprocessors INTEGER NOT NULL,
    shared_memory_per_block INTEGER NOT NULL,  -- bytes
    l2_bytes INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE template (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    source_hash TEXT NOT NULL,
    UNIQUE (name, source_hash)
) STRICT;

CREATE TABLE binary (
    key TEXT PRIMARY KEY,
    size INTEGER NOT NULL,         -- bytes, uncompressed
    content_hash TEXT NOT NULL,    -- of the uncompressed bytes
    compressed BLOB NOT NULL       -- zlib
) STRICT;

-- binary_key has no foreign key: a trial on the emulator names a binary that is never stored.
CREATE TABLE trial (
    id INTEGER PRIMARY KEY,
    problem INTEGER NOT NULL REFERENCES problem (id),
    device INTEGER NOT NULL REFERENCES device (id),
    template INTEGER NOT NULL REFERENCES template (id),
    config TEXT NOT NULL,          -- JSON, canonical
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    error_relative REAL,           -- NULL: not a number
    error_absolute REAL,
    error_index INTEGER NOT NULL,
    error_distribution TEXT NOT NULL,
    median_ms REAL,
    minimum_ms REAL,
    spread REAL,
    samples_ms TEXT NOT NULL,      -- JSON
    dropped_early INTEGER NOT NULL,
    registers INTEGER NOT NULL,
    static_shared_bytes INTEGER NOT NULL,
    local_bytes INTEGER NOT NULL,
    blocks_per_multiprocessor INTEGER NOT NULL,
    compile_ms REAL,
    plan TEXT,                     -- JSON; NULL: nothing to launch
    binary_key TEXT NOT NULL,
    driver_version TEXT NOT NULL,
    compiler_version TEXT NOT NULL,
    created TEXT NOT NULL,         -- UTC
    UNIQUE (problem, device, template, config)
) STRICT;

CREATE TABLE request (
    problem INTEGER NOT NULL REFERENCES problem (id),
    device INTEGER NOT NULL REFERENCES device (id),
    tolerance REAL NOT NULL,
    count INTEGER NOT NULL,
    last_asked TEXT NOT NULL,
    PRIMARY KEY (problem, device, tolerance)
) STRICT, WITHOUT ROWID;

CREATE TABLE ceilings (
    device INTEGER PRIMARY KEY REFERENCES device (id),
    copy_bytes_per_second REAL NOT NULL,
    fma_flops_per_second REAL NOT NULL,
    empty_launch_ms REAL NOT NULL,
    measured TEXT NOT NULL
) STRICT;

-- The exact look-up walks the first index from its fast end; the list reads the second and never the wide rows. A trial
-- that was dropped after one sample comes after all that were timed properly.
CREATE INDEX trial_by_speed ON trial (problem, device, dropped_early, median_ms, error_relative)
    WHERE outcome = 'valid' AND plan IS NOT NULL AND median_ms > 0;
CREATE INDEX trial_by_outcome ON trial (problem, device, outcome, created);

CREATE VIEW winner AS
    SELECT p.key AS problem, p.name, d.key AS device, s.name AS template, t.config, t.median_ms, t.spread,
           t.error_relative, t.created, t.id AS trial
    FROM (SELECT DISTINCT problem, device FROM trial) tuned
    JOIN trial t ON t.id = (
        SELECT id FROM trial WHERE problem = tuned.problem AND device = tuned.device
        AND outcome = 'valid' AND plan IS NOT NULL AND median_ms > 0 ORDER BY dropped_early, median_ms LIMIT 1)
    JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device JOIN template s ON s.id = t.template;

CREATE VIEW quarantine AS
    SELECT p.key AS problem, p.name, d.key AS device, s.name AS template, t.config, t.outcome, t.reason, t.created,
           t.id AS trial
    FROM trial t JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device JOIN template s ON s.id = t.template
    WHERE t.outcome IN ('launch_error', 'wrong_result', 'not_finite', 'out_of_bounds', 'nondeterministic', 'timeout',
                        'crashed');
)sql";

// Version 2: what tensor cores do at best. 0: not measured.
constexpr const char* k_tensor_rates = R"sql(
ALTER TABLE ceilings ADD COLUMN tf32_flops_per_second REAL NOT NULL DEFAULT 0;
ALTER TABLE ceilings ADD COLUMN bf16_flops_per_second REAL NOT NULL DEFAULT 0;
)sql";

// Version 3: a trial ranks by a time that can stand behind its median (a lost tie) and says what disturbed its timing;
// a trial's row has a digest that shows a change (NULL: stored by an older version), and what failed and
// code that no trial names are found without reading the wide rows.
constexpr const char* k_digest_and_failures = R"sql(
ALTER TABLE trial ADD COLUMN digest TEXT;
ALTER TABLE trial ADD COLUMN rank_ms REAL;
ALTER TABLE trial ADD COLUMN remark TEXT NOT NULL DEFAULT '';
UPDATE trial SET rank_ms = median_ms;
DROP INDEX trial_by_speed;
CREATE INDEX trial_by_speed ON trial (problem, device, dropped_early, rank_ms, error_relative)
    WHERE outcome = 'valid' AND plan IS NOT NULL AND median_ms > 0;
DROP VIEW winner;
CREATE VIEW winner AS
    SELECT p.key AS problem, p.name, d.key AS device, s.name AS template, t.config, t.median_ms, t.spread,
           t.error_relative, t.created, t.id AS trial
    FROM (SELECT DISTINCT problem, device FROM trial) tuned
    JOIN trial t ON t.id = (
        SELECT id FROM trial WHERE problem = tuned.problem AND device = tuned.device
        AND outcome = 'valid' AND plan IS NOT NULL AND median_ms > 0 ORDER BY dropped_early, rank_ms LIMIT 1)
    JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device JOIN template s ON s.id = t.template;
CREATE INDEX trial_by_failure ON trial (outcome, created) WHERE outcome NOT IN ('valid', 'too_slow');
CREATE INDEX trial_by_binary ON trial (binary_key) WHERE binary_key <> '';
DROP VIEW quarantine;
CREATE VIEW quarantine AS
    SELECT p.key AS problem, p.name, d.key AS device, s.name AS template, t.config, t.outcome, t.reason,
           t.driver_version, t.compiler_version, s.source_hash, t.created, t.id AS trial
    FROM trial t JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device JOIN template s ON s.id = t.template
    WHERE t.outcome NOT IN ('valid', 'too_slow') AND t.outcome NOT IN ('compile_error', 'resource_error');
)sql";

// Version 4: whether a trial uses plain fp32 arithmetic alone, as all did before, and the tolerance of the session that
// measured it (0: a strict one). The look-up of the fastest strict trial walks the same index.
constexpr const char* k_strict = R"sql(
ALTER TABLE trial ADD COLUMN strict INTEGER NOT NULL DEFAULT 1;
ALTER TABLE trial ADD COLUMN reach REAL NOT NULL DEFAULT 0;
DROP INDEX trial_by_speed;
CREATE INDEX trial_by_speed ON trial (problem, device, dropped_early, rank_ms, error_relative, strict)
    WHERE outcome = 'valid' AND plan IS NOT NULL AND median_ms > 0;
DROP VIEW winner;
CREATE VIEW winner AS
    SELECT p.key AS problem, p.name, d.key AS device, s.name AS template, t.config, t.median_ms, t.spread,
           t.error_relative, t.strict, t.created, t.id AS trial
    FROM (SELECT DISTINCT problem, device FROM trial) tuned
    JOIN trial t ON t.id = (
        SELECT id FROM trial WHERE problem = tuned.problem AND device = tuned.device
        AND outcome = 'valid' AND plan IS NOT NULL AND median_ms > 0 ORDER BY dropped_early, rank_ms LIMIT 1)
    JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device JOIN template s ON s.id = t.template;
)sql";

// Version 5: the weights of a channels-last problem are channels-last too. Trials from before took them channels first,
// which is another operation but where both orders are the same.
constexpr const char* k_channels_last_weights = R"sql(
DELETE FROM trial WHERE problem IN (
    SELECT id FROM problem WHERE layout = 'nhwc' AND out_channels > groups AND kernel_d * kernel_h * kernel_w > 1);
)sql";

/// Column names and types of the problem's fields.
struct ColumnVisitor {
    std::vector<std::pair<std::string, std::string>> columns;

    void operator()(const char* name, const Extents&) {
        for (const char* const axis : {"_d", "_h", "_w"})
            columns.emplace_back(std::string(name) + axis, "INTEGER");
    }
    template <class Field>
    void operator()(const char* name, const Field&) {
        columns.emplace_back(name, std::is_enum_v<Field> ? "TEXT" : "INTEGER");
    }
};

std::string problem_table() {
    std::string sql = "CREATE TABLE problem (\n    id INTEGER PRIMARY KEY,\n";
    ColumnVisitor visitor;
    const Problem problem;
    visit_fields(problem, visitor);
    for (const auto& [name, type] : visitor.columns)
        sql += fmt::format("    {} {} NOT NULL,\n", name, type);
    sql += "    key TEXT NOT NULL UNIQUE,  -- canonical form of all the above\n    name TEXT NOT NULL\n) STRICT;\n";
    sql += fmt::format("CREATE INDEX problem_by_all_but_batch ON problem ({});\n", problem_columns("", ", ", "batch"));
    return sql;
}

}  // namespace

std::string problem_columns(const std::string& suffix, const std::string& separator, const std::string& without) {
    ColumnVisitor visitor;
    const Problem problem;
    visit_fields(problem, visitor);
    std::string list;
    for (const auto& [name, type] : visitor.columns) {
        if (name == without) continue;
        list += (list.empty() ? "" : separator) + name + suffix;
    }
    return list;
}

int schema_version(sqlite::Connection& connection) {
    // One statement, so that all is seen as it was at one moment: another process may be making the tables.
    sqlite::Statement row = connection.query(
        "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema) "
        "FROM pragma_application_id a, pragma_user_version v");
    row.step();
    const std::int64_t application = row.integer(0);
    const std::int64_t version = row.integer(1);
    const bool empty = row.integer(2) == 0;
    if (application == 0 && version == 0 && empty) return 0;
    const std::string path = connection.path().string();
    if (application != k_application_id) {
        throw Error(ErrorKind::cache, fmt::format("the database '{}' belongs to another program, not to tconv", path));
    }
    if (version < 1 || empty) {
        throw Error(ErrorKind::cache,
                    fmt::format("the database '{}' is damaged: it has tconv's mark and no tables of a version that "
                                "ever was ({})",
                                path, version));
    }
    if (version > k_schema_version) {
        throw Error(ErrorKind::cache,
                    fmt::format("the database '{}' was written by a newer tconv: it has schema version {}, and this "
                                "program knows versions up to {}",
                                path, version, k_schema_version));
    }
    return static_cast<int>(version);
}

void make_schema(sqlite::Connection& connection) {
    // Step n brings version n to n + 1; the first one starts from an empty file.
    const std::array<std::string, k_schema_version> steps{problem_table() + k_tables, k_tensor_rates,
                                                          k_digest_and_failures, k_strict, k_channels_last_weights};
    sqlite::Transaction transaction(connection);
    const auto version = static_cast<std::size_t>(schema_version(connection));
    if (version == steps.size()) return;
    for (std::size_t step = version; step < steps.size(); ++step)
        connection.execute(steps[step]);
    connection.execute(fmt::format("PRAGMA application_id = {}", k_application_id));
    connection.execute(fmt::format("PRAGMA user_version = {}", k_schema_version));
    transaction.commit();
}

}  // namespace tconv
