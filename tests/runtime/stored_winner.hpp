#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "cache/database.hpp"

namespace tconv {

/// A folder under the temporary directory, removed at the end.
class TemporaryFolder {
public:
    TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();

    [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// A trial as a tuner would store it, of the reference kernel: source, hash and plan are real, the time is 1.5 ms.
[[nodiscard]] Trial stored_trial(const Problem& problem);

}  // namespace tconv
