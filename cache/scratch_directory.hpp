#pragma once

#include <sys/types.h>

#include <filesystem>

namespace tconv {

/// A private folder under the temporary directory, removed with the object (and not when a child of this process ends).
class ScratchDirectory {
public:
    /// Throws Error(cache) when none can be made.
    ScratchDirectory();
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;
    ~ScratchDirectory();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    pid_t owner_;
    std::filesystem::path path_;
};

}  // namespace tconv
