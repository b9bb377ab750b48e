#pragma once

#include <cstdint>
#include <string>

#include "cache/database.hpp"
#include "cache/sqlite.hpp"

namespace tconv {

/// Binds the problem's fields in the order of `problem_columns`; the batch is left out where that is wanted.
void bind_problem(sqlite::Statement& statement, const Problem& problem, bool with_batch);

/// Reads a problem's key column. Throws Error(bad_input) when it is damaged or the problem breaks a rule.
[[nodiscard]] Problem problem_from(const std::string& key_column);

/// Inserts a trial, or replaces the one with the same problem, device, template and config; gives back its id.
/// Parameters: problem, device, template, then those of `bind_trial`, which gives the row a digest of all it says.
[[nodiscard]] const std::string& store_trial_sql();
void bind_trial(sqlite::Statement& statement, const Trial& trial, const std::string& device_key);

/// Columns that `read_trial` needs, from trial t, problem p, device d and template s; `k_trial_column_count` of them.
[[nodiscard]] const std::string& select_trial_sql();
inline constexpr int k_trial_column_count = 33;

/// Throws Error(bad_input) when the row is damaged: it does not match its digest; config, plan, samples or outcome that
/// cannot be read, names that are no identifiers.
[[nodiscard]] Trial read_trial(const sqlite::Statement& row, const Problem& problem);

/// Removes the machine code of this key unless a trial names it.
void remove_binary_without_trial(sqlite::Connection& connection, const std::string& key);

}  // namespace tconv
