#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cache/database.hpp"
#include "core/config.hpp"
#include "core/outcome.hpp"

namespace tconv {

/// A stored trial that failed: it is not tried again with the same driver, compiler and template.
struct QuarantinedTrial {
    std::int64_t id = 0;
    std::string problem;  ///< key
    std::string problem_name;
    std::string device;  ///< key
    std::string template_name;
    std::string template_hash;
    Config config;
    OutcomeKind outcome = OutcomeKind::crashed;
    std::string reason;
    std::string driver_version;
    std::string compiler_version;
    std::string created;           ///< UTC, ISO 8601
    std::int64_t age_seconds = 0;  ///< since it was created, by this machine's clock
};

/// Which of them; everything where nothing is set.
struct QuarantineFilter {
    std::optional<std::vector<std::string>> problems;  ///< keys
    std::optional<OutcomeKind> outcome;
};

/// Whether trials with this outcome are skipped later: all but valid and too_slow ones.
[[nodiscard]] bool is_failure(OutcomeKind kind);

/// The quarantine, most recent first: what crashed, hung or was wrong. What the compiler refused or the device has no
/// room for is known beforehand and common, and is given only where the filter asks for that outcome. Rows that cannot
/// be read are passed over. Throws Error(cache).
[[nodiscard]] std::vector<QuarantinedTrial> list_quarantine(const std::filesystem::path& database,
                                                            const QuarantineFilter& filter);

/// Removes those trials with their machine code, so that they are tried again; gives back how many. One transaction.
/// Throws Error(cache).
std::int64_t clear_quarantine(const std::filesystem::path& database, const QuarantineFilter& filter);

}  // namespace tconv
