#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cache/database.hpp"

namespace tconv {

/// What a look at everything in a database found.
struct VerifyResult {
    std::int64_t problems = 0;
    std::int64_t trials = 0;
    std::int64_t plans = 0;     ///< checked against their problem and device
    std::int64_t binaries = 0;  ///< checked against their size and hash
    std::int64_t orphans = 0;   ///< sound machine code that no trial names; prune removes it
    std::int64_t damages = 0;
    std::vector<std::string> sentences;  ///< one a damage, the first few
};

/// Reads everything: SQLite's own check of the file and of references, every trial and its plan, all machine code.
/// Changes nothing. Throws Error(cache) only where the file cannot be opened as tconv's database.
[[nodiscard]] VerifyResult verify_database(const std::filesystem::path& path);

/// Name and source hash of a template.
using TemplateVersion = std::pair<std::string, std::string>;

struct PruneRequest {
    bool stale = false;                    ///< also trials of other templates than the present ones
    std::vector<TemplateVersion> present;  ///< needed for `stale`
};

/// Rows removed, and the file's size.
struct PruneResult {
    std::int64_t trials = 0;
    std::int64_t binaries = 0;
    std::int64_t problems = 0;
    std::int64_t bytes_before = 0;
    std::int64_t bytes_after = 0;
    std::string note;  ///< why the file could not be made smaller; empty where it could
};

/// Removes, in one transaction, machine code that no trial names, stale trials where asked, and problems and templates
/// that nothing names any more. A stale trial stays where it wins at some tolerance: no trial of its problem and device
/// that can be launched is both faster and as accurate, or none that is strict where it is strict itself. Then the file
/// is made smaller. Throws Error(cache).
[[nodiscard]] PruneResult prune_database(const std::filesystem::path& path, const PruneRequest& request);

}  // namespace tconv
