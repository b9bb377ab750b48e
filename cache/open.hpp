#pragma once

#include <filesystem>
#include <memory>

#include "cache/database.hpp"
#include "cache/sqlite.hpp"

namespace tconv {

/// Opens tconv's database with its tables in place and the right kind of journal. Throws Error(cache); a file that is
/// not tconv's, or not this version's, stays as it is.
[[nodiscard]] std::unique_ptr<sqlite::Connection> open_database(const std::filesystem::path& path, OpenMode mode);

/// True for file systems that several machines (or a user-space server) share, where a memory-mapped write-ahead log
/// cannot be relied on. `magic` is f_type of statfs.
[[nodiscard]] bool is_shared_file_system(unsigned long magic);

}  // namespace tconv
