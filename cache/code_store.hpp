#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tconv {

/// Compiled code by content key, one file each, in a private folder. Files appear whole (temporary file, fsync,
/// rename); the loser of a race between processes finds the winner's file. An unreadable or damaged entry is a miss.
class CodeStore {
public:
    /// Throws Error(cache) when the folder cannot be made or is not private.
    explicit CodeStore(std::filesystem::path folder);

    /// Keys and extensions are letters, digits, "_" and "-"; the extension has no dot: "so", "cubin". Others throw
    /// Error(cache).
    [[nodiscard]] std::optional<std::string> get(const std::string& key, const std::string& extension) const;
    /// Writes and returns the path. A sound entry that is there already is kept. A write that fails throws Error(cache)
    /// and leaves nothing behind. The file holds `bytes` and a trailer that `get` checks; loaders of ELF images ignore
    /// it.
    std::filesystem::path put(const std::string& key, const std::string& extension, const std::string& bytes) const;
    /// Keys of all entries with this extension, sound or not, sorted.
    [[nodiscard]] std::vector<std::string> keys(const std::string& extension) const;
    /// Where an entry lies or would lie.
    [[nodiscard]] std::filesystem::path path_of(const std::string& key, const std::string& extension) const;

private:
    std::filesystem::path folder_;
};

}  // namespace tconv
