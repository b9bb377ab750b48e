#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace tconv::emulator {

struct ProgramResult {
    int exit_code = -1;  ///< 128 + signal where one ended it
    bool timed_out = false;
    std::string output;  ///< standard output and error as they came, cut at the limit
};

/// Runs a program by its path with a list of arguments (no shell), its input empty. At `limit` it is ended together
/// with what it has started. `folder`, where given, is where it puts its temporary files (TMPDIR). Throws
/// Error(unavailable) when it cannot be started.
[[nodiscard]] ProgramResult run_program(const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                                        std::size_t output_limit = 64 * 1024, const std::string& folder = {});

/// Ends every program that `run_program` is waiting for, with its children, and lets none start any more.
void end_programs();

}  // namespace tconv::emulator
