#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cache/database.hpp"

namespace tconv {

/// The file that --database names, or the default one where it is empty.
[[nodiscard]] std::filesystem::path database_path(const std::string& option);

/// The file of a database that is there; nothing where the user's own was not made yet (which is printed). Throws
/// Error(not_found) where the one named with --database does not exist.
[[nodiscard]] std::optional<std::filesystem::path> existing_path(const std::string& option);

/// The user's own database for reading, or nothing where none was made yet (which is printed); one named with
/// --database must be there. Throws Error(cache).
[[nodiscard]] std::optional<Database> open_existing(const std::string& option);

/// The layer's name, or its key where it has none.
[[nodiscard]] const std::string& name_or(const std::string& name, const std::string& otherwise);

/// Rows of the list that `text` means: those with this name or key, else those whose name or key begins with it. Throws
/// Error(not_found) where there is none, Error(bad_input) where it is the beginning of several.
[[nodiscard]] std::vector<ProblemSummary> stored_problems(const Database& database, const std::string& text);

}  // namespace tconv
