#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cache/merge_rows.hpp"

namespace tconv {

// An archive is one file that carries a database and the compiled code of the code cache to another machine: a gzip
// file that holds an SQLite database with tconv's tables and one more, `compiled_code`. Host code never goes into one
// and never comes out of one.

/// What an archive holds, or what of it was taken.
struct ArchiveCounts {
    RowCounts rows;
    std::int64_t compiled = 0;  ///< entries of the code cache

    friend bool operator==(const ArchiveCounts&, const ArchiveCounts&) = default;
};

struct ExportRequest {
    std::filesystem::path file;
    std::optional<std::filesystem::path> database;  ///< nothing: no rows
    bool code = true;                               ///< with the code cache
    /// Machine code of that many fastest trials of each problem and device alone, and of each trial that is more
    /// accurate than all faster ones, or than all faster strict ones, so that the winner of every tolerance has its
    /// code.
    std::optional<std::int64_t> best;
};

struct ExportResult {
    ArchiveCounts counts;
    std::int64_t bytes = 0;  ///< size of the file
    std::vector<std::string> warnings;
};

/// Writes the archive, all of one moment, and puts it in place whole. An existing file is replaced where it is an
/// archive. Throws Error(cache).
ExportResult export_archive(const ExportRequest& request);

struct ImportResult {
    ArchiveCounts found;
    ArchiveCounts taken;                ///< rows added or replaced, entries of the code cache that were not there
    std::vector<std::string> warnings;  ///< one sentence for each thing that was left out, the first few of them
};

/// Merges an archive into a database (made where absent; see merge_rows) in one transaction, and its compiled code into
/// the code cache. Nothing in the archive is trusted: rows and code that are not sound are left out. Throws
/// Error(cache) when the file is no archive, is damaged or was written by a newer tconv; the database is then as it
/// was.
ImportResult import_archive(const std::filesystem::path& file, const std::filesystem::path& database);

}  // namespace tconv
