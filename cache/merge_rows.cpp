#include "cache/merge_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>

#include "cache/compression.hpp"
#include "cache/printable_line.hpp"
#include "cache/rows.hpp"
#include "cache/schema.hpp"
#include "core/device_info.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/problem.hpp"

namespace tconv {
namespace {

using Names = std::vector<std::string>;
using Ids = std::map<std::int64_t, std::int64_t>;  // the source's id to the target's

std::string join(const Names& names, std::string_view form = "{}", std::string_view separator = ", ") {
    std::string text;
    for (const std::string& name : names) {
        if (!text.empty()) text += separator;
        text += fmt::format(fmt::runtime(form), name);
    }
    return text;
}

/// Columns of a table but its id; of a primary key alone where that is asked.
Names columns_of(sqlite::Connection& connection, std::string_view table, bool of_the_key = false) {
    sqlite::Statement rows = connection.query(
        "SELECT name FROM pragma_table_info(?1) WHERE name <> 'id' AND (pk > 0 OR NOT ?2) ORDER BY cid");
    rows.bind(table).bind(of_the_key);
    Names names;
    while (rows.step())
        names.push_back(rows.text(0));
    return names;
}

/// What to do where the target has the row: take the one whose `time` column is later.
std::string keep_later(const Names& key, const Names& columns, std::string_view table, std::string_view time) {
    return fmt::format("({}) DO UPDATE SET {} WHERE excluded.{} > {}.{}", join(key),
                       join(columns, "{0} = excluded.{0}"), time, table, time);
}

bool is_sound(std::int64_t size, const std::string& hash, const std::string& compressed) {
    const auto bytes = decompress(compressed, size);
    return bytes && content_hash(*bytes) == hash;
}

class Merge {
public:
    Merge(sqlite::Connection& from, sqlite::Connection& to, const LeftOut& left_out, std::vector<std::string>& warnings)
        : from_(from), to_(to), left_out_(left_out), warnings_(warnings) {}

    RowCounts run() {
        devices();
        problems();
        templates();
        trials();
        binaries();  // only those that a trial names by now
        requests();
        ceilings();
        return counts_;
    }

private:
    void devices();
    void problems();
    void templates();
    void binaries();
    void trials();
    void requests();
    void ceilings();

    /// Rows of the source: `lead` expressions, then `columns`.
    sqlite::Statement rows_of(const std::string& table, const Names& lead, const Names& columns,
                              const std::string& order) {
        return from_.query_made(
            fmt::format("SELECT {}, {} FROM {} ORDER BY {}", join(lead), join(columns), table, order));
    }

    /// A row on its way into the target; its statement has a row where the target was changed.
    sqlite::Statement insertion(const std::string& table, const Names& columns, const std::string& conflict) {
        return to_.query_made(fmt::format("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT {} RETURNING 1", table,
                                          join(columns), join(columns, "?"), conflict));
    }

    std::int64_t refer_by_value(const std::string& table, const Names& lead, const Names& columns,
                                const std::string& order, const std::string& conflict);
    bool bind_row(sqlite::Statement& insert, const sqlite::Statement& row, std::size_t first, const Names& columns);

    sqlite::Connection& from_;
    sqlite::Connection& to_;
    const LeftOut& left_out_;
    std::vector<std::string>& warnings_;
    RowCounts counts_;
    std::map<std::string, Ids> ids_;  // by the name of the column that refers to them
};

void Merge::devices() {
    const Names columns = columns_of(to_, "device");
    const Names lead{"id", "key", "name", "compute_major", "compute_minor", "multiprocessors"};
    sqlite::Statement rows = rows_of("device", lead, columns, "id");
    while (rows.step()) {
        DeviceInfo facts;
        facts.name = rows.text(2);
        facts.compute_major = static_cast<int>(rows.integer(3));
        facts.compute_minor = static_cast<int>(rows.integer(4));
        facts.multiprocessors = static_cast<int>(rows.integer(5));
        const std::string key = rows.text(1);
        if (key != device_key(facts)) {
            warnings_.push_back(
                fmt::format("the device '{}' is left out: its row contradicts its key", printable_line(key)));
            continue;
        }
        sqlite::Statement insert = insertion("device", columns, "(key) DO NOTHING");
        for (std::size_t i = 0; i < columns.size(); ++i)
            insert.bind_column(rows, static_cast<int>(lead.size() + i));
        insert.run();
        sqlite::Statement find = to_.query("SELECT id FROM device WHERE key = ?");
        find.bind(key).step();
        ids_["device"][rows.integer(0)] = find.integer(0);
    }
}

void Merge::problems() {
    // The columns of a problem repeat its key, so they are made from it.
    Names columns{problem_columns(), "key", "name"};
    const auto count = std::count(columns[0].begin(), columns[0].end(), ',') + 1;
    std::string marks = "?, ?";
    for (auto i = count; i > 0; --i)
        marks += ", ?";
    const std::string sql = fmt::format("INSERT INTO problem ({}) VALUES ({}) ON CONFLICT (key) DO NOTHING RETURNING 1",
                                        join(columns), marks);
    sqlite::Statement rows = from_.query("SELECT id, key, name FROM problem ORDER BY id");
    while (rows.step()) {
        const std::string key = rows.text(1);
        try {
            const Problem problem = problem_from(key);
            sqlite::Statement insert = to_.query_made(sql);
            bind_problem(insert, problem, true);
            if (insert.bind(key).bind(rows.text(2)).step()) ++counts_.problems;
            insert.run();
        } catch (const sqlite::Failure&) {
            throw;
        } catch (const Error& error) {
            warnings_.push_back(fmt::format("a problem is left out: {}", printable_line(error.what())));
            continue;
        }
        to_.query("UPDATE problem SET name = ?1 WHERE key = ?2 AND name = ''").bind(rows.text(2)).bind(key).run();
        sqlite::Statement find = to_.query("SELECT id FROM problem WHERE key = ?");
        find.bind(key).step();
        ids_["problem"][rows.integer(0)] = find.integer(0);
    }
}

void Merge::templates() {
    sqlite::Statement rows = from_.query("SELECT id, name, source_hash FROM template ORDER BY id");
    while (rows.step()) {
        to_.query("INSERT INTO template (name, source_hash) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .bind(rows.text(1))
            .bind(rows.text(2))
            .run();
        sqlite::Statement find = to_.query("SELECT id FROM template WHERE name = ? AND source_hash = ?");
        find.bind(rows.text(1)).bind(rows.text(2)).step();
        ids_["template"][rows.integer(0)] = find.integer(0);
    }
}

void Merge::binaries() {
    const Names columns = columns_of(to_, "binary");
    const Names lead{"key"};
    sqlite::Statement rows = rows_of("binary", lead, columns, "key");
    while (rows.step()) {
        const std::string key = rows.text(0);
        if (left_out_.binary && left_out_.binary(key)) continue;
        if (!to_.query("SELECT 1 FROM trial WHERE binary_key = ?").bind(key).step()) continue;
        bool replace = false;
        {
            sqlite::Statement own = to_.query("SELECT size, content_hash, compressed FROM binary WHERE key = ?");
            if (own.bind(key).step()) {
                if (is_sound(own.integer(0), own.text(1), own.blob(2))) continue;
                replace = true;
            }
        }
        if (replace) to_.query("DELETE FROM binary WHERE key = ?").bind(key).run();
        sqlite::Statement insert = insertion("binary", columns, "DO NOTHING");
        for (std::size_t i = 0; i < columns.size(); ++i)
            insert.bind_column(rows, static_cast<int>(lead.size() + i));
        if (insert.step()) ++counts_.binaries;
        insert.run();
    }
}

/// Binds a row with its references as the target numbers them; false where it refers to something left out.
bool Merge::bind_row(sqlite::Statement& insert, const sqlite::Statement& row, std::size_t first, const Names& columns) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const int column = static_cast<int>(first + i);
        const auto references = ids_.find(columns[i]);
        if (references == ids_.end()) {
            insert.bind_column(row, column);
            continue;
        }
        const auto id = references->second.find(row.integer(column));
        if (id == references->second.end()) return false;
        insert.bind(id->second);
    }
    return true;
}

/// Copies the rows of a table that refers to problems, devices and templates; gives back how many changed the target.
std::int64_t Merge::refer_by_value(const std::string& table, const Names& lead, const Names& columns,
                                   const std::string& order, const std::string& conflict) {
    std::int64_t changed = 0;
    sqlite::Statement rows = rows_of(table, lead, columns, order);
    while (rows.step()) {
        if (table == "trial" && left_out_.trials.count(rows.integer(0)) != 0) continue;
        sqlite::Statement insert = insertion(table, columns, conflict);
        if (!bind_row(insert, rows, lead.size(), columns)) continue;
        if (insert.step()) ++changed;
        insert.run();
    }
    return changed;
}

void Merge::trials() {
    const Names columns = columns_of(to_, "trial");
    const Names key{"problem", "device", "template", "config"};
    counts_.trials = refer_by_value("trial", {"id"}, columns, "id", keep_later(key, columns, "trial", "created"));
}

void Merge::requests() {
    const Names key = columns_of(to_, "request", true);
    const std::string conflict = fmt::format(
        "({}) DO UPDATE SET count = max(request.count, excluded.count), "
        "last_asked = max(request.last_asked, excluded.last_asked) "
        "WHERE excluded.count > request.count OR excluded.last_asked > request.last_asked",
        join(key));
    counts_.requests = refer_by_value("request", {"0"}, columns_of(to_, "request"), join(key), conflict);
}

void Merge::ceilings() {
    const Names columns = columns_of(to_, "ceilings");
    const Names key = columns_of(to_, "ceilings", true);
    counts_.ceilings =
        refer_by_value("ceilings", {"0"}, columns, join(key), keep_later(key, columns, "ceilings", "measured"));
}

}  // namespace

RowCounts merge_rows(sqlite::Connection& from, sqlite::Connection& to, const LeftOut& left_out,
                     std::vector<std::string>& warnings) {
    return Merge(from, to, left_out, warnings).run();
}

RowCounts count_rows(sqlite::Connection& connection) {
    const auto count = [&](const char* table) {
        sqlite::Statement row = connection.query_made(fmt::format("SELECT count(*) FROM {}", table));
        row.step();
        return row.integer(0);
    };
    return {count("problem"), count("trial"), count("binary"), count("request"), count("ceilings")};
}

}  // namespace tconv
