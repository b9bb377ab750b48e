#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/scratch_folder.hpp"

namespace tconv::tests {

/// How a program ended and what it wrote.
struct Finished {
    int exit_code = -1;  ///< 128 + signal when a signal ended it
    std::string out;
    std::string err;
};

/// Runs the built tconv command with its standard input closed off, its home, data and cache folders inside `folder`,
/// and `environment` ("NAME=value") on top. `meanwhile` is called with the process id while it runs. `output`, where
/// given, is the file that takes its standard output, which is then not read back.
[[nodiscard]] Finished run_tconv(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                                 const std::vector<std::string>& environment = {},
                                 const std::function<void(pid_t)>& meanwhile = {}, const std::string& output = {});

[[nodiscard]] std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace tconv::tests
