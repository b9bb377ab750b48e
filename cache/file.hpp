#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tconv {

/// The whole content of a regular file; nothing when it cannot be read for any reason.
[[nodiscard]] std::optional<std::string> read_file(const std::filesystem::path& path);

/// Writes `bytes` under a name of its own beside `path`, flushes them to the disk and renames the file to `path`, so
/// that `path` is never seen half-written. Throws Error(cache) naming the path and the reason, leaving nothing behind.
void write_file_whole(const std::filesystem::path& path, const std::string& bytes);

}  // namespace tconv
