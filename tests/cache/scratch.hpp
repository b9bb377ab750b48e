#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.hpp"

namespace tconv::test {

/// Sets environment variables and puts the old values back at the end. An empty value unsets.
class Environment {
public:
    explicit Environment(const std::vector<std::pair<std::string, std::string>>& values);
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment();

private:
    std::vector<std::pair<std::string, std::string>> old_;
};

/// Code that a child gives when what it tests cannot be set up on this machine.
inline constexpr int k_skipped = 77;

/// Runs `body` in a child process; its return value is the exit code, an exception gives 99 and its text on stderr.
[[nodiscard]] pid_t start_child(const std::function<int()>& body);
/// The exit code, or minus the signal.
[[nodiscard]] int wait_for(pid_t child);
[[nodiscard]] int run_in_child(const std::function<int()>& body);

/// The same as an unprivileged user, for permission bits do not bind root.
[[nodiscard]] int run_unprivileged(const std::function<int()>& body);

/// Starts `count` children that all begin at once; gives back their exit codes.
[[nodiscard]] std::vector<int> run_together(int count, const std::function<int(int)>& body);

[[nodiscard]] std::string read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, const std::string& bytes);
/// Names in a folder, sorted.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);

/// What `body` throws as Error(cache); empty when it throws nothing. Another kind of Error is reported as such.
[[nodiscard]] std::string cache_error(const std::function<void()>& body);

/// Runs SQL with a connection that has none of the project's protections, as another program would.
void run_sql(const std::filesystem::path& path, const std::string& sql);
/// First column of every row.
[[nodiscard]] std::vector<std::string> query_sql(const std::filesystem::path& path, const std::string& sql);

}  // namespace tconv::test
