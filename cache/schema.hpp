#pragma once

#include <string>

#include "cache/sqlite.hpp"

namespace tconv {

/// Version of the tables that this program reads and writes; kept in the file's user_version.
inline constexpr int k_schema_version = 5;

/// The version of an opened file's tables, 0 where there is none yet; writes nothing. Throws Error(cache) when the file
/// is another program's database or was written by a newer version (naming both).
[[nodiscard]] int schema_version(sqlite::Connection& connection);

/// Makes the tables, or brings an older version's up to date, in one transaction; does nothing when another process has
/// done so in the meantime.
void make_schema(sqlite::Connection& connection);

/// The problem table's columns that follow visit_fields, joined as "spatial_axes, batch, ..."; `suffix` follows each
/// name, and the column `without` is left out.
[[nodiscard]] std::string problem_columns(const std::string& suffix = {}, const std::string& separator = ", ",
                                          const std::string& without = {});

}  // namespace tconv
