#pragma once

#include <filesystem>
#include <optional>

namespace tconv {

/// TCONV_DATABASE where set, else $XDG_DATA_HOME/tconv/tconv.db, else $HOME/.local/share/tconv/tconv.db.
/// Throws Error(cache) naming the variables when none is set.
[[nodiscard]] std::filesystem::path default_database_path();

/// Folder for compiled code: TCONV_CACHE where set, else $XDG_CACHE_HOME/tconv, else $HOME/.cache/tconv; where none is
/// set or it cannot be written, a fresh private folder under the temporary directory, used by this process alone.
[[nodiscard]] std::filesystem::path code_directory();

/// The same without the last resort: a folder whose content outlives this process, or nothing.
[[nodiscard]] std::optional<std::filesystem::path> lasting_code_directory();

/// Makes `path` (and its parents) with mode 0700. Throws Error(cache) when it cannot be made, belongs to another user,
/// or others may write to it.
void make_private_directory(const std::filesystem::path& path);

}  // namespace tconv
