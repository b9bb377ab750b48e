#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cache/sqlite.hpp"

namespace tconv {

/// Rows of each kind.
struct RowCounts {
    std::int64_t problems = 0;
    std::int64_t trials = 0;
    std::int64_t binaries = 0;
    std::int64_t requests = 0;
    std::int64_t ceilings = 0;

    friend bool operator==(const RowCounts&, const RowCounts&) = default;
};

/// What of a database is not to be copied.
struct LeftOut {
    std::set<std::int64_t> trials;  ///< by id in the source
    /// True for the keys of binaries that stay behind; none do when it is empty.
    std::function<bool(const std::string& key)> binary;
};

/// Copies every row of one database into another one with the same version of the tables, inside a transaction of the
/// caller. Rows are matched by what they are about (problem, device, template hash, config), never by id:
/// - a trial or ceilings that both have: the later one stays;
/// - a request that both have: the larger count and the later time, so that copying again changes nothing;
/// - a binary that both have: the target's own, unless it is damaged;
/// - a problem's name: the target's own, unless it has none.
/// A problem or device whose row contradicts its key stays behind with all that belongs to it, and a sentence goes to
/// `warnings`. Gives back the rows that were added or replaced. Throws Error(cache).
RowCounts merge_rows(sqlite::Connection& from, sqlite::Connection& to, const LeftOut& left_out,
                     std::vector<std::string>& warnings);

/// Rows in a database.
[[nodiscard]] RowCounts count_rows(sqlite::Connection& connection);

}  // namespace tconv
