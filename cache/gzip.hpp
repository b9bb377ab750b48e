#pragma once

#include <cstdint>
#include <filesystem>

#include "cache/file.hpp"

namespace tconv {

/// True for a regular file that begins as gzip data does.
[[nodiscard]] bool is_gzip(const std::filesystem::path& path);

/// Compresses a whole file as gzip data; gives back its bytes. Throws Error(cache).
std::int64_t compress_file(const std::filesystem::path& source, FileInMaking& target);

/// The reverse. Throws Error(cache) when `source` is not whole and sound gzip data, holds more than `most_bytes`, or
/// `target` cannot be written; the sentence is about `source` ("is cut short") and does not name it.
void decompress_file(const std::filesystem::path& source, const std::filesystem::path& target, std::int64_t most_bytes);

}  // namespace tconv
