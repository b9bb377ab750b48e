#include "cache/paths.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "cache/scratch_directory.hpp"
#include "core/error.hpp"

namespace tconv {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& sentence) {
    throw Error(ErrorKind::cache, sentence);
}

/// The variable's value as a path; nothing when it is unset or empty.
std::optional<fs::path> path_from(const char* variable) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return fs::path(value);
}

/// The XDG rules say that a relative path in one of their variables is to be ignored.
std::optional<fs::path> absolute_path_from(const char* variable) {
    std::optional<fs::path> path = path_from(variable);
    if (path && !path->is_absolute()) return std::nullopt;
    return path;
}

/// TCONV's own variable, then XDG's, then HOME.
std::optional<fs::path> user_path(const char* own, const char* xdg, const char* below_home, const char* leaf) {
    if (const auto path = path_from(own)) return fs::absolute(*path);
    if (const auto path = absolute_path_from(xdg)) return *path / "tconv" / leaf;
    if (const auto path = absolute_path_from("HOME")) return *path / below_home / "tconv" / leaf;
    return std::nullopt;
}

void make_directory(const fs::path& path) {
    if (::mkdir(path.c_str(), 0700) == 0) return;
    const int reason = errno;
    // Another process may have made it in the meantime, and a read-only file system says so even for a folder that
    // is there.
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return;
    fail(fmt::format("the folder '{}' cannot be made: {}", path.string(), std::strerror(reason)));
}

}  // namespace

fs::path default_database_path() {
    if (const auto path = user_path("TCONV_DATABASE", "XDG_DATA_HOME", ".local/share", "tconv.db")) return *path;
    fail("no place for the database is known: none of TCONV_DATABASE, XDG_DATA_HOME and HOME is set");
}

std::optional<fs::path> lasting_code_directory() {
    if (const auto path = user_path("TCONV_CACHE", "XDG_CACHE_HOME", ".cache", "")) {
        try {
            const fs::path folder = path->has_filename() ? *path : path->parent_path();
            make_private_directory(folder);
            if (::access(folder.c_str(), W_OK | X_OK) == 0) return folder;
        } catch (const Error&) {  // as good as absent
        }
    }
    return std::nullopt;
}

fs::path code_directory() {
    if (auto folder = lasting_code_directory()) return *folder;
    static const ScratchDirectory scratch;
    return scratch.path();
}

void make_private_directory(const fs::path& path) {
    const fs::path whole = fs::absolute(path);
    fs::path prefix;
    for (const fs::path& part : whole) {
        prefix /= part;
        if (!part.empty() && prefix != whole.root_path()) make_directory(prefix);
    }
    struct stat status {};
    if (::stat(whole.c_str(), &status) != 0) {
        fail(fmt::format("the folder '{}' cannot be looked at: {}", whole.string(), std::strerror(errno)));
    }
    if (status.st_uid != ::geteuid()) {
        fail(fmt::format("the folder '{}' belongs to user {} and not to user {}, who runs this program", whole.string(),
                         status.st_uid, ::geteuid()));
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        fail(fmt::format("the folder '{}' can be written by others (mode {:o}): it must be its owner's alone",
                         whole.string(), status.st_mode & 07777u));
    }
}

}  // namespace tconv
