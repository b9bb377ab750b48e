#pragma once

#include <filesystem>
#include <string>

#include "bench/run.hpp"

namespace tconv {

/// The run as one JSON document, raw samples included, with a newline at the end.
[[nodiscard]] std::string to_json(const BenchRun& run);

/// The reverse of to_json; `name` stands for the text in messages. Throws Error(bad_input) as "NAME: sentence" on
/// anything that is no run of this format.
[[nodiscard]] BenchRun parse_run(const std::string& text, const std::string& name);

/// The run stored in a file. Throws Error(bad_input) when it cannot be read or holds no run.
[[nodiscard]] BenchRun read_run(const std::filesystem::path& file);

/// Stores the run; the file appears whole or not at all. Throws Error(cache) when it cannot be
/// written.
void write_run(const BenchRun& run, const std::filesystem::path& file);

}  // namespace tconv
