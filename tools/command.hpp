#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tconv {

inline constexpr int k_exit_ok = 0;
inline constexpr int k_exit_failed = 1;     ///< no winner, or a run that failed
inline constexpr int k_exit_bad_input = 2;  ///< a value or a file that breaks a rule
inline constexpr int k_exit_interrupted = 130;

/// The whole `tconv` command: parses the arguments, runs what they ask for and returns the exit code. Never throws; a
/// failure is one line on stderr.
[[nodiscard]] int run_command(int argc, const char* const* argv);

// Each declares one subcommand on `app`, which runs in its callback when it is the chosen one; errors leave as
// exceptions. Those that can end in several ways leave their exit code in `exit_code`.
void add_tune_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code, const std::string& command_text);
void add_compile_command(CLI::App& app, int& exit_code);
void add_cache_command(CLI::App& app, int& exit_code);
void add_devices_command(CLI::App& app);
void add_spaces_command(CLI::App& app);
void add_worker_command(CLI::App& app);

/// Declares --database on a subcommand; `path` stays empty for the default.
void add_database_option(CLI::App& command, std::string& path);

}  // namespace tconv
