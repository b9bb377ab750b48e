#include "cache/database.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cache/compression.hpp"
#include "cache/open.hpp"
#include "cache/printable_line.hpp"
#include "cache/queries.hpp"
#include "cache/rows.hpp"
#include "cache/schema.hpp"
#include "cache/sqlite.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/launch_plan.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_most_open_warnings = 16;

const char* name_of(DeviceKind kind) {
    return kind == DeviceKind::cuda ? "cuda" : "emulator";
}

}  // namespace

struct Database::Impl {
    std::unique_ptr<sqlite::Connection> connection;
    mutable std::vector<std::string> warnings;

    sqlite::Statement query(std::string_view sql) { return connection->query(sql); }

    void warn(const std::string& about, const Error& reason) {
        if (warnings.size() >= k_most_open_warnings) return;
        warnings.push_back(fmt::format("{} of the database '{}' is passed over: {}", about, connection->path().string(),
                                       reason.what()));
    }

    /// Shows `visit` the trials of `rows` until it returns false.
    void show_trials(sqlite::Statement& rows, const Problem& problem, const std::function<bool(Trial)>& visit) {
        while (rows.step()) {
            std::optional<Trial> trial;
            try {
                trial = read_trial(rows, problem);
            } catch (const Error& error) {
                warn(fmt::format("trial {}", rows.integer(k_trial_column_count - 1)), error);
            }
            if (trial && !visit(*std::move(trial))) return;
        }
    }

    /// The id that `sql` finds for what `bind` binds; the row is there.
    std::int64_t id_of(std::string_view sql, const std::string& key) {
        sqlite::Statement statement = query(sql);
        if (!statement.bind(key).step()) {
            throw Error(ErrorKind::cache,
                        fmt::format("the database '{}' is damaged: a row just stored for '{}' is missing",
                                    connection->path().string(), key));
        }
        return statement.integer(0);
    }

    std::int64_t device_id(const DeviceInfo& device);
    std::int64_t problem_id(const Problem& problem, const std::string& name);
    std::int64_t template_id(const Trial& trial);
    void store_binary(const std::string& key, const std::string& binary, const std::string& compressed);
    /// The machine code that a stored trial names; empty where there is no such trial or code.
    std::string binary_key_of(std::int64_t problem, std::int64_t device, std::int64_t template_id,
                              const Config& config);
    std::optional<Winner> winner(const std::string& problem_key, const Problem& launched, const DeviceInfo& device,
                                 double tolerance, bool strict);
};

std::int64_t Database::Impl::device_id(const DeviceInfo& device) {
    const std::string key = device_key(device);
    query(
        "INSERT INTO device (key, kind, name, compute_major, compute_minor, multiprocessors, "
        "shared_memory_per_block, l2_bytes, memory_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (key) DO NOTHING")
        .bind(key)
        .bind(std::string_view(name_of(device.kind)))
        .bind(device.name)
        .bind(device.compute_major)
        .bind(device.compute_minor)
        .bind(device.multiprocessors)
        .bind(device.shared_memory_per_block)
        .bind(device.l2_bytes)
        .bind(device.memory_bytes)
        .run();
    return id_of("SELECT id FROM device WHERE key = ?", key);
}

std::int64_t Database::Impl::problem_id(const Problem& problem, const std::string& name) {
    const std::string problem_key = key(problem);
    {
        sqlite::Statement insert = query(insert_problem_sql());
        bind_problem(insert, problem, true);
        insert.bind(problem_key).run();
    }
    const std::int64_t id = id_of("SELECT id FROM problem WHERE key = ?", problem_key);
    if (!name.empty()) query("UPDATE problem SET name = ?1 WHERE id = ?2 AND name <> ?1").bind(name).bind(id).run();
    return id;
}

std::int64_t Database::Impl::template_id(const Trial& trial) {
    query("INSERT INTO template (name, source_hash) VALUES (?, ?) ON CONFLICT DO NOTHING")
        .bind(trial.template_name)
        .bind(trial.template_hash)
        .run();
    sqlite::Statement find = query("SELECT id FROM template WHERE name = ? AND source_hash = ?");
    find.bind(trial.template_name).bind(trial.template_hash).step();
    return find.integer(0);
}

void Database::Impl::store_binary(const std::string& key, const std::string& binary, const std::string& compressed) {
    // Written again even when the key is there: that heals a damaged one.
    query(
        "INSERT INTO binary (key, size, content_hash, compressed) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE "
        "SET size = excluded.size, content_hash = excluded.content_hash, compressed = excluded.compressed")
        .bind(key)
        .bind(static_cast<std::int64_t>(binary.size()))
        .bind(content_hash(binary))
        .bind_blob(compressed)
        .run();
}

std::string Database::Impl::binary_key_of(std::int64_t problem, std::int64_t device, std::int64_t template_id,
                                          const Config& config) {
    sqlite::Statement row =
        query("SELECT binary_key FROM trial WHERE problem = ? AND device = ? AND template = ? AND config = ?");
    return row.bind(problem).bind(device).bind(template_id).bind(to_json(config)).step() ? row.text(0) : "";
}

namespace {

/// The machine code whose size, hash and compressed content are in a row from `first` on. Throws Error(bad_input).
std::string read_binary(const sqlite::Statement& row, int first) {
    const auto reject = [](const char* sentence) { throw Error(ErrorKind::bad_input, sentence); };
    if (row.is_null(first)) reject("its machine code is missing");
    std::optional<std::string> binary = decompress(row.blob(first + 2), row.integer(first));
    if (!binary || binary->empty() || content_hash(*binary) != row.text(first + 1)) {
        reject("its machine code is damaged");
    }
    return std::move(*binary);
}

}  // namespace

std::optional<Winner> Database::Impl::winner(const std::string& problem_key, const Problem& launched,
                                             const DeviceInfo& device, double tolerance, bool strict) {
    sqlite::Statement rows = query(winner_sql());
    rows.bind(problem_key).bind(device_key(device)).bind(tolerance).bind(strict);
    while (rows.step()) {
        try {
            Winner found;
            found.trial = read_trial(rows, problem_from(problem_key));
            check_plan(found.trial.outcome.plan, launched, device);
            if (device.kind != DeviceKind::emulator) found.binary = read_binary(rows, k_trial_column_count);
            return found;
        } catch (const Error& error) {
            warn(fmt::format("trial {}", rows.integer(k_trial_column_count - 1)), error);
        }
    }
    return std::nullopt;
}

Database::Database(const std::filesystem::path& path, OpenMode mode) : impl_(std::make_unique<Impl>()) {
    impl_->connection = open_database(path, mode);
}

Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

const std::filesystem::path& Database::path() const {
    return impl_->connection->path();
}

bool Database::has_machine_code(const std::string& key) const {
    sqlite::Statement row = impl_->query("SELECT size, content_hash, compressed FROM binary WHERE key = ?");
    row.bind(key);
    if (!row.step()) return false;
    try {
        (void)read_binary(row, 0);
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::int64_t Database::record(const DeviceInfo& device, const Trial& trial, const std::string& binary) {
    const std::string compressed = binary.empty() ? std::string() : compress(binary);  // before the lock is taken
    sqlite::Transaction transaction(*impl_->connection);
    const std::int64_t device_id = impl_->device_id(device);
    const std::int64_t problem_id = impl_->problem_id(trial.problem, trial.problem_name);
    const std::int64_t template_id = impl_->template_id(trial);
    if (!binary.empty()) impl_->store_binary(trial.outcome.binary_key, binary, compressed);
    const std::string replaced = impl_->binary_key_of(problem_id, device_id, template_id, trial.config);
    std::int64_t id = 0;
    {
        sqlite::Statement store = impl_->query(store_trial_sql());
        store.bind(problem_id).bind(device_id).bind(template_id);
        bind_trial(store, trial, device_key(device));
        store.step();
        id = store.integer(0);
        store.run();
    }
    if (!replaced.empty() && replaced != trial.outcome.binary_key)
        remove_binary_without_trial(*impl_->connection, replaced);
    transaction.commit();
    return id;
}

std::vector<Trial> Database::trials(const Problem& problem, const std::string& device_key,
                                    const std::string& template_name, const std::string& template_hash) const {
    sqlite::Statement rows = impl_->query(trials_sql());
    rows.bind(key(problem)).bind(device_key).bind(template_name).bind(template_hash);
    std::vector<Trial> result;
    impl_->show_trials(rows, problem, [&](Trial trial) {
        result.push_back(std::move(trial));
        return true;
    });
    return result;
}

void Database::visit_former_trials(const Problem& problem, const std::string& device_key,
                                   const std::string& template_name, const std::string& template_hash, double tolerance,
                                   bool strict, const std::function<bool(Trial)>& visit) const {
    sqlite::Statement rows = impl_->query(former_trials_sql());
    rows.bind(key(problem)).bind(device_key).bind(tolerance).bind(strict).bind(template_name).bind(template_hash);
    impl_->show_trials(rows, problem, visit);
}

std::optional<Winner> Database::winner(const Problem& problem, const DeviceInfo& device, double tolerance,
                                       bool strict) const {
    return impl_->winner(key(problem), problem, device, tolerance, strict);
}

std::optional<Winner> Database::winner_of_other_batch(const Problem& problem, const DeviceInfo& device,
                                                      double tolerance, bool strict) const {
    std::vector<Problem> others;
    {
        sqlite::Statement rows = impl_->query(other_batches_sql());
        bind_problem(rows, problem, false);
        while (rows.step()) {
            try {
                Problem other = problem_from(rows.text(0));
                if (other.batch >= 1 && other.batch != problem.batch) others.push_back(other);
            } catch (const Error& error) {
                impl_->warn("a problem", error);
            }
        }
    }
    // Equal ratios give equal quotients, so that ties are seen as ties.
    const auto ratio = [&](const Problem& other) {
        const std::int64_t asked = std::max<std::int64_t>(problem.batch, 1);
        return static_cast<double>(std::max(asked, other.batch)) / static_cast<double>(std::min(asked, other.batch));
    };
    std::sort(others.begin(), others.end(), [&](const Problem& a, const Problem& b) {
        return std::pair(ratio(a), -a.batch) < std::pair(ratio(b), -b.batch);
    });
    for (const Problem& other : others) {
        if (auto found = impl_->winner(key(other), problem, device, tolerance, strict)) return found;
    }
    return std::nullopt;
}

std::vector<ProblemSummary> Database::list() const {
    sqlite::Statement rows = impl_->query(list_sql());
    std::vector<ProblemSummary> result;
    while (rows.step()) {
        try {
            ProblemSummary summary;
            summary.problem = problem_from(rows.text(0));
            summary.problem_name = rows.text(1);
            summary.device = rows.text(2);
            summary.trials = rows.integer(3);
            summary.valid = rows.integer(4);
            summary.updated = rows.text(5);
            if (!rows.is_null(6)) summary.best_median = rows.real(6);
            if (!rows.is_null(7)) summary.best_error = rows.real(7);
            summary.best_template = rows.text(8);
            result.push_back(std::move(summary));
        } catch (const Error& error) {
            impl_->warn("a problem", error);
        }
    }
    return result;
}

std::vector<Problem> Database::find_problems(const std::string& text) const {
    sqlite::Statement rows =
        impl_->query("SELECT key FROM problem WHERE key = ?1 OR (name = ?1 AND ?1 <> '') ORDER BY id");
    rows.bind(text);
    std::vector<Problem> result;
    while (rows.step()) {
        try {
            result.push_back(problem_from(rows.text(0)));
        } catch (const Error& error) {
            impl_->warn("a problem", error);
        }
    }
    return result;
}

void Database::store_ceilings(const DeviceInfo& device, const Ceilings& ceilings) {
    sqlite::Transaction transaction(*impl_->connection);
    impl_
        ->query(
            "INSERT OR REPLACE INTO ceilings (device, copy_bytes_per_second, fma_flops_per_second, empty_launch_ms, "
            "tf32_flops_per_second, bf16_flops_per_second, measured) "
            "VALUES (?, ?, ?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))")
        .bind(impl_->device_id(device))
        .bind(ceilings.copy_bytes_per_second)
        .bind(ceilings.fma_flops_per_second)
        .bind(ceilings.empty_launch_milliseconds)
        .bind(ceilings.tf32_flops_per_second)
        .bind(ceilings.bf16_flops_per_second)
        .run();
    transaction.commit();
}

std::optional<Ceilings> Database::ceilings(const std::string& device_key) const {
    sqlite::Statement row = impl_->query(
        "SELECT copy_bytes_per_second, fma_flops_per_second, empty_launch_ms, tf32_flops_per_second, "
        "bf16_flops_per_second FROM ceilings WHERE device = (SELECT id FROM device WHERE key = ?)");
    if (!row.bind(device_key).step()) return std::nullopt;
    return Ceilings{row.real(0), row.real(1), row.real(2), row.real(3), row.real(4)};
}

void Database::note_request(const DeviceInfo& device, const Problem& problem, double tolerance) noexcept {
    sqlite::Connection& connection = *impl_->connection;
    if (connection.is_read_only()) return;
    const int patience = connection.busy_timeout();
    connection.set_busy_timeout(0);  // the caller waits for a kernel; the note is not worth a delay
    try {
        sqlite::Transaction transaction(connection);
        impl_
            ->query(
                "INSERT INTO request VALUES (?, ?, ?, 1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) "
                "ON CONFLICT DO UPDATE SET count = count + 1, last_asked = excluded.last_asked")
            .bind(impl_->problem_id(problem, {}))
            .bind(impl_->device_id(device))
            .bind(tolerance)
            .run();
        transaction.commit();
    } catch (...) {  // nothing lost but a note
    }
    connection.set_busy_timeout(patience);
}

std::vector<std::string> Database::take_warnings() {
    return std::exchange(impl_->warnings, {});
}

}  // namespace tconv
