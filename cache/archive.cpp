#include "cache/archive.hpp"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "cache/code_store.hpp"
#include "cache/compression.hpp"
#include "cache/file.hpp"
#include "cache/front.hpp"
#include "cache/gzip.hpp"
#include "cache/open.hpp"
#include "cache/paths.hpp"
#include "cache/printable_line.hpp"
#include "cache/rows.hpp"
#include "cache/schema.hpp"
#include "cache/scratch_directory.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"

namespace tconv {
namespace {

namespace fs = std::filesystem;

// What travels: machine code for GPUs. The emulator's shared objects are host code and stay where they were made.
constexpr const char* k_extension = "cubin";
constexpr std::int64_t k_most_bytes = std::int64_t{8} << 30;  // of an unpacked archive
constexpr std::size_t k_most_warnings = 16;

// An entry without `compressed` has the content of a row of `binary`.
constexpr const char* k_compiled_code = R"sql(
CREATE TABLE compiled_code (
    key TEXT NOT NULL,
    extension TEXT NOT NULL,
    size INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    compressed BLOB,
    PRIMARY KEY (key, extension)
) STRICT, WITHOUT ROWID)sql";

void shorten(std::vector<std::string>& warnings) {
    if (warnings.size() <= k_most_warnings) return;
    const std::size_t more = warnings.size() - k_most_warnings;
    warnings.resize(k_most_warnings);
    warnings.push_back(fmt::format("and {} more", more));
}

/// A private database that nobody else sees and that need not survive a crash.
std::unique_ptr<sqlite::Connection> open_private(const fs::path& path) {
    auto connection = std::make_unique<sqlite::Connection>(path, sqlite::Access::read_write);
    connection->execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
    return connection;
}

/// Keys of the machine code that goes along when only the `best` of each problem and device do.
std::set<std::string> best_binaries(sqlite::Connection& database, std::int64_t best) {
    std::set<std::string> keys;
    sqlite::Statement rows = database.query(
        "SELECT t.problem, t.device, t.error_relative, t.strict, t.binary_key FROM trial t JOIN binary b ON b.key = "
        "t.binary_key "
        "WHERE t.outcome = 'valid' AND t.plan IS NOT NULL AND t.median_ms > 0 "
        "ORDER BY t.problem, t.device, t.dropped_early, t.rank_ms, t.error_relative");
    std::pair<std::int64_t, std::int64_t> group{-1, -1};
    std::int64_t rank = 0;
    FrontWalk front;
    while (rows.step()) {
        if (const std::pair here{rows.integer(0), rows.integer(1)}; here != group) {
            group = here;
            rank = 0;
            front = {};
        }
        const bool wins = front.wins(rows.real(2), rows.integer(3) != 0);
        if (rank < best || (best > 0 && wins)) keys.insert(rows.text(4));
        ++rank;
    }
    return keys;
}

/// Hashes of the sound machine code among the rows.
std::set<std::string> stored_contents(sqlite::Connection& archive) {
    std::set<std::string> hashes;
    sqlite::Statement rows = archive.query("SELECT size, content_hash, compressed FROM binary");
    while (rows.step()) {
        const auto code = decompress(rows.blob(2), rows.integer(0));
        if (code && content_hash(*code) == rows.text(1)) hashes.insert(rows.text(1));
    }
    return hashes;
}

/// Copies the sound entries of the code cache.
std::int64_t pack_code(sqlite::Connection& archive, const std::optional<fs::path>& folder, bool only_known) {
    archive.execute(k_compiled_code);
    if (!folder) return 0;
    const CodeStore store(*folder);
    const std::set<std::string> stored = stored_contents(archive);
    std::int64_t count = 0;
    for (const std::string& key : store.keys(k_extension)) {
        const auto code = store.get(key, k_extension);
        if (!code) continue;
        const std::string hash = content_hash(*code);
        const bool known = stored.count(hash) != 0;
        if (only_known && !known) continue;
        sqlite::Statement insert = archive.query("INSERT INTO compiled_code VALUES (?, ?, ?, ?, ?)");
        insert.bind(key).bind(std::string_view(k_extension)).bind(static_cast<std::int64_t>(code->size())).bind(hash);
        if (known) {
            insert.bind_null();
        } else {
            insert.bind_blob(compress(*code));
        }
        insert.run();
        ++count;
    }
    return count;
}

void pack_rows(sqlite::Connection& archive, const ExportRequest& request, std::vector<std::string>& warnings) {
    const auto database = open_database(*request.database, OpenMode::read_only);
    database->execute("BEGIN");  // all tables as they are at one moment
    LeftOut left_out;
    if (request.best) {
        left_out.binary = [wanted = best_binaries(*database, *request.best)](const std::string& key) {
            return wanted.count(key) == 0;
        };
    }
    merge_rows(*database, archive, left_out, warnings);
    database->execute("COMMIT");
}

void check_target(const ExportRequest& request) {
    std::error_code error;
    if (fs::exists(request.file, error) && !is_gzip(request.file)) {
        throw Error(ErrorKind::cache, fmt::format("the file '{}' is there and is no archive: it is not overwritten",
                                                  request.file.string()));
    }
}

/// The archive's own name in a sentence about its unpacked copy.
[[noreturn]] void fail(const fs::path& file, const fs::path& copy, std::string sentence) {
    const std::string subject = fmt::format("the database '{}' ", copy.string());
    if (sentence.rfind(subject, 0) == 0) sentence.erase(0, subject.size());
    throw Error(ErrorKind::cache, fmt::format("the archive '{}' {}", file.string(), sentence));
}

/// Opens an archive's copy and brings it up to date. Throws Error(cache).
std::unique_ptr<sqlite::Connection> open_copy(const fs::path& file, const fs::path& copy) {
    std::error_code error;
    if (!fs::exists(file, error)) fail(file, copy, "does not exist");
    if (!is_gzip(file)) fail(file, copy, "was not made by tconv cache export");
    try {
        decompress_file(file, copy, k_most_bytes);
        auto archive = open_private(copy);
        const int version = schema_version(*archive);
        if (version == 0) fail(file, copy, "is empty");
        if (const std::string state = archive->value_of("PRAGMA quick_check(1)"); state != "ok")
            fail(file, copy, fmt::format("is damaged: {}", printable_line(state)));
        if (version != k_schema_version) make_schema(*archive);
        archive->execute("CREATE INDEX IF NOT EXISTS binary_by_content ON binary (content_hash)");
        return archive;
    } catch (const Error& failure) {
        if (std::string_view(failure.what()).rfind("the archive ", 0) == 0) throw;
        fail(file, copy, failure.what());
    }
}

/// Trials and binaries that are not sound.
LeftOut find_unsound(sqlite::Connection& archive, std::vector<std::string>& warnings) {
    LeftOut left_out;
    static const std::string trials_sql = fmt::format(
        "SELECT {} FROM trial t JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device "
        "JOIN template s ON s.id = t.template ORDER BY t.id",
        select_trial_sql());
    sqlite::Statement trials = archive.query(trials_sql);
    while (trials.step()) {
        const std::int64_t id = trials.integer(k_trial_column_count - 1);
        try {
            (void)read_trial(trials, problem_from(trials.text(0)));
        } catch (const Error& error) {
            left_out.trials.insert(id);
            warnings.push_back(fmt::format("trial {} is left out: {}", id, printable_line(error.what())));
        }
    }
    std::set<std::string> binaries;
    sqlite::Statement rows = archive.query("SELECT key, size, content_hash, compressed FROM binary");
    while (rows.step()) {
        const auto code = decompress(rows.blob(3), rows.integer(1));
        if (code && content_hash(*code) == rows.text(2)) continue;
        binaries.insert(rows.text(0));
        warnings.push_back(fmt::format("the machine code {} is left out: it is damaged", printable_line(rows.text(0))));
    }
    left_out.binary = [binaries = std::move(binaries)](const std::string& key) { return binaries.count(key) != 0; };
    return left_out;
}

/// Code of a row of `compiled_code`; nothing when it is damaged.
std::optional<std::string> unpack_code(const sqlite::Statement& row) {
    auto code = decompress(row.blob(4), row.integer(2));
    if (!code || code->empty() || content_hash(*code) != row.text(3)) return std::nullopt;
    return code;
}

std::int64_t take_code(sqlite::Connection& archive, std::vector<std::string>& warnings) {
    const auto folder = lasting_code_directory();
    if (!folder) {
        warnings.emplace_back("compiled code is left out: no folder can keep it (see TCONV_CACHE)");
        return 0;
    }
    const CodeStore store(*folder);
    std::int64_t taken = 0;
    sqlite::Statement rows = archive.query(
        "SELECT key, extension, size, content_hash, coalesce(compressed, "
        "(SELECT b.compressed FROM binary b WHERE b.content_hash = c.content_hash)) FROM compiled_code c ORDER BY key");
    while (rows.step()) {
        const std::string key = rows.text(0);
        const auto leave_out = [&](std::string_view reason) {
            warnings.push_back(
                fmt::format("the compiled code {} is left out: {}", printable_line(key), printable_line(reason)));
        };
        try {
            if (rows.text(1) != k_extension) {
                leave_out("it is no machine code of a GPU");
            } else if (store.get(key, k_extension)) {
                continue;
            } else if (const auto code = unpack_code(rows)) {
                store.put(key, k_extension, *code);
                ++taken;
            } else {
                leave_out("it is damaged");
            }
        } catch (const sqlite::Failure&) {
            throw;
        } catch (const Error& error) {
            leave_out(error.what());
        }
    }
    return taken;
}

std::int64_t count_code(sqlite::Connection& archive) {
    sqlite::Statement row = archive.query("SELECT count(*) FROM compiled_code");
    row.step();
    return row.integer(0);
}

}  // namespace

ExportResult export_archive(const ExportRequest& request) {
    check_target(request);
    ExportResult result;
    const ScratchDirectory scratch;
    const fs::path copy = scratch.path() / "archive.db";
    {
        const auto archive = open_private(copy);
        make_schema(*archive);
        sqlite::Transaction transaction(*archive);
        if (request.database) pack_rows(*archive, request, result.warnings);
        const auto folder = request.code ? lasting_code_directory() : std::nullopt;
        result.counts.compiled = pack_code(*archive, folder, request.best.has_value());
        result.counts.rows = count_rows(*archive);
        transaction.commit();
    }
    FileInMaking file(request.file);
    result.bytes = compress_file(copy, file);
    file.put_in_place();
    shorten(result.warnings);
    return result;
}

ImportResult import_archive(const fs::path& file, const fs::path& database) {
    const ScratchDirectory scratch;
    const fs::path copy = scratch.path() / "archive.db";
    const auto archive = open_copy(file, copy);
    ImportResult result;
    try {
        result.found = {count_rows(*archive), count_code(*archive)};
        const LeftOut left_out = find_unsound(*archive, result.warnings);
        if (result.found.rows != RowCounts{}) {
            const auto target = open_database(database, OpenMode::read_write);
            sqlite::Transaction transaction(*target);
            result.taken.rows = merge_rows(*archive, *target, left_out, result.warnings);
            transaction.commit();
        }
        result.taken.compiled = take_code(*archive, result.warnings);
    } catch (const sqlite::Failure& failure) {
        if (std::string_view(failure.what()).find(copy.string()) == std::string_view::npos) throw;
        fail(file, copy, failure.what());
    }
    shorten(result.warnings);
    return result;
}

}  // namespace tconv
