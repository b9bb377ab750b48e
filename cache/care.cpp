#include "cache/care.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <system_error>

#include "cache/compression.hpp"
#include "cache/front.hpp"
#include "cache/open.hpp"
#include "cache/printable_line.hpp"
#include "cache/rows.hpp"
#include "cache/sqlite.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/launch_plan.hpp"

namespace tconv {
namespace {

constexpr std::int64_t k_most_sentences = 20;

class Verification {
public:
    explicit Verification(const std::filesystem::path& path) : connection_(open_database(path, OpenMode::read_only)) {}

    VerifyResult run() {
        // One moment of the file, whoever writes meanwhile. Damage may end any of the walks, but not the others.
        connection_->execute("BEGIN");
        attempt([&] { check_file(); });
        attempt([&] { check_problems(); });
        attempt([&] { check_trials(); });
        attempt([&] { check_binaries(); });
        return std::move(result_);
    }

private:
    template <class Walk>
    void attempt(const Walk& walk) {
        try {
            walk();
        } catch (const Error& error) {
            damaged(error.what());
        }
    }

    void damaged(const std::string& sentence) {
        if (++result_.damages <= k_most_sentences) result_.sentences.push_back(printable_line(sentence));
    }

    void check_file() {
        sqlite::Statement rows = connection_->query("SELECT integrity_check FROM pragma_integrity_check");
        while (rows.step()) {
            if (const std::string state = rows.text(0); state != "ok") damaged("the file: " + state);
        }
        sqlite::Statement references = connection_->query("SELECT \"table\", rowid FROM pragma_foreign_key_check");
        while (references.step()) {
            damaged(fmt::format("row {} of table {} refers to a row that is missing", references.integer(1),
                                references.text(0)));
        }
    }

    void check_problems() {
        sqlite::Statement rows = connection_->query("SELECT key, id FROM problem");
        for (; rows.step(); ++result_.problems) {
            try {
                (void)problem_from(rows.text(0));
            } catch (const Error& error) {
                damaged(fmt::format("problem {}: {}", rows.integer(1), error.what()));
            }
        }
    }

    void check_trials() {
        static const std::string sql = fmt::format(
            "SELECT {}, d.kind, d.name, d.compute_major, d.compute_minor, d.multiprocessors, "
            "d.shared_memory_per_block, d.memory_bytes FROM trial t JOIN problem p ON p.id = t.problem "
            "JOIN device d ON d.id = t.device JOIN template s ON s.id = t.template",
            select_trial_sql());
        sqlite::Statement rows = connection_->query(sql);
        for (; rows.step(); ++result_.trials) {
            try {
                const Trial trial = read_trial(rows, problem_from(rows.text(0)));
                if (trial.outcome.plan.launches.empty()) continue;
                ++result_.plans;
                check_plan(trial.outcome.plan, trial.problem, device_of(rows));
            } catch (const sqlite::Failure&) {
                throw;
            } catch (const Error& error) {
                damaged(fmt::format("trial {}: {}", rows.integer(k_trial_column_count - 1), error.what()));
            }
        }
    }

    static DeviceInfo device_of(const sqlite::Statement& row) {
        int column = k_trial_column_count;
        DeviceInfo device;
        device.kind = row.text(column++) == "cuda" ? DeviceKind::cuda : DeviceKind::emulator;
        device.name = row.text(column++);
        device.compute_major = static_cast<int>(row.integer(column++));
        device.compute_minor = static_cast<int>(row.integer(column++));
        device.multiprocessors = static_cast<int>(row.integer(column++));
        device.shared_memory_per_block = row.integer(column++);
        device.memory_bytes = row.integer(column++);
        return device;
    }

    void check_binaries() {
        sqlite::Statement rows = connection_->query(
            "SELECT key, size, content_hash, compressed, EXISTS "
            "(SELECT 1 FROM trial WHERE binary_key = binary.key AND binary_key <> '') FROM binary");
        for (; rows.step(); ++result_.binaries) {
            const auto code = decompress(rows.blob(3), rows.integer(1));
            if (!code || content_hash(*code) != rows.text(2)) {
                damaged(fmt::format("the machine code {} does not match its hash", rows.text(0)));
            } else if (rows.integer(4) == 0) {
                ++result_.orphans;
            }
        }
    }

    std::unique_ptr<sqlite::Connection> connection_;
    VerifyResult result_;
};

/// Trials of templates other than the present ones, without those that win at some tolerance.
std::vector<std::int64_t> stale_trials(sqlite::Connection& connection, const std::vector<TemplateVersion>& present) {
    const std::set<TemplateVersion> kept(present.begin(), present.end());
    std::vector<std::int64_t> stale;
    sqlite::Statement rows = connection.query(
        "SELECT t.id, t.problem, t.device, s.name, s.source_hash, t.error_relative, "
        "       t.outcome = 'valid' AND t.plan IS NOT NULL AND t.median_ms > 0 "
        "       AND (d.kind <> 'cuda' OR b.key IS NOT NULL), t.strict "
        "FROM trial t JOIN template s ON s.id = t.template JOIN device d ON d.id = t.device "
        "LEFT JOIN binary b ON b.key = t.binary_key ORDER BY t.problem, t.device, t.dropped_early, t.rank_ms, "
        "t.error_relative, t.id");
    std::pair<std::int64_t, std::int64_t> group{-1, -1};
    FrontWalk front;
    while (rows.step()) {
        if (const std::pair here{rows.integer(1), rows.integer(2)}; here != group) {
            group = here;
            front = {};
        }
        const bool wins = rows.integer(6) != 0 && front.wins(rows.real(5), rows.integer(7) != 0);
        if (!wins && kept.count({rows.text(3), rows.text(4)}) == 0) stale.push_back(rows.integer(0));
    }
    return stale;
}

std::int64_t remove(sqlite::Connection& connection, std::string_view sql) {
    sqlite::Statement rows = connection.query(sql);
    std::int64_t count = 0;
    while (rows.step())
        ++count;
    return count;
}

/// What a reader of the file has to take in: the file and its log.
std::int64_t bytes_of(const std::filesystem::path& path) {
    std::int64_t bytes = 0;
    for (const char* const suffix : {"", "-wal"}) {
        std::error_code error;
        const auto size = std::filesystem::file_size(path.string() + suffix, error);
        if (!error) bytes += static_cast<std::int64_t>(size);
    }
    return bytes;
}

}  // namespace

VerifyResult verify_database(const std::filesystem::path& path) {
    return Verification(path).run();
}

PruneResult prune_database(const std::filesystem::path& path, const PruneRequest& request) {
    PruneResult result;
    auto connection = open_database(path, OpenMode::read_write);
    result.bytes_before = bytes_of(connection->path());
    {
        sqlite::Transaction transaction(*connection);
        if (request.stale) {
            const auto stale = stale_trials(*connection, request.present);
            for (const std::int64_t id : stale)
                connection->query("DELETE FROM trial WHERE id = ?").bind(id).run();
            result.trials = static_cast<std::int64_t>(stale.size());
        }
        result.binaries = remove(*connection,
                                 "DELETE FROM binary WHERE NOT EXISTS (SELECT 1 FROM trial "
                                 "WHERE binary_key = binary.key AND binary_key <> '') RETURNING 1");
        result.problems = remove(*connection,
                                 "DELETE FROM problem WHERE id NOT IN (SELECT problem FROM trial) "
                                 "AND id NOT IN (SELECT problem FROM request) RETURNING 1");
        (void)remove(*connection, "DELETE FROM template WHERE id NOT IN (SELECT template FROM trial) RETURNING 1");
        transaction.commit();
    }
    try {
        connection->shrink();
    } catch (const Error& error) {
        result.note = error.what();
    }
    const std::filesystem::path file = connection->path();
    connection.reset();  // the last one moves the log into the file
    result.bytes_after = bytes_of(file);
    return result;
}

}  // namespace tconv
