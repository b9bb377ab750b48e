#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tconv {

/// The whole content of a regular file; nothing when it cannot be read for any reason.
[[nodiscard]] std::optional<std::string> read_file(const std::filesystem::path& path);

/// A file under a name of its own beside `path`, which takes its final name when it is whole, so that `path` is never
/// seen half-written. Without `put_in_place` nothing stays behind. Errors are Error(cache) with the path and the
/// reason.
class FileInMaking {
public:
    explicit FileInMaking(std::filesystem::path path);
    FileInMaking(const FileInMaking&) = delete;
    FileInMaking& operator=(const FileInMaking&) = delete;
    ~FileInMaking();

    void write(std::string_view bytes);
    /// Flushes the file to the disk and renames it.
    void put_in_place();

private:
    [[noreturn]] void fail(const char* step) const;

    std::filesystem::path path_;
    std::string name_;  // empty once renamed
    int file_ = -1;
};

/// Writes `bytes` under a name of its own beside `path`, flushes them to the disk and renames the file to `path`, so
/// that `path` is never seen half-written. Throws Error(cache) naming the path and the reason, leaving nothing behind.
void write_file_whole(const std::filesystem::path& path, const std::string& bytes);

}  // namespace tconv
