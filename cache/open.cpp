#include "cache/open.hpp"

#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "cache/paths.hpp"
#include "cache/schema.hpp"
#include "core/error.hpp"

namespace tconv {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
    throw Error(ErrorKind::cache, fmt::format("the database '{}' {}", path.string(), what));
}

bool can_write(const fs::path& folder) {
    return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

/// Says plainly what is wrong with the place, before SQLite says it in its own words. True when the file is there.
bool check_place(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) return false;
    if (error) fail(path, fmt::format("cannot be looked at: {}", error.message()));
    if (status.type() == fs::file_type::directory) fail(path, "is a folder and must be a file");
    if (status.type() != fs::file_type::regular) fail(path, "is a device or a pipe and must be a file");
    return true;
}

void make_missing_folders(const fs::path& folder) {
    std::error_code error;
    if (fs::is_directory(folder, error)) return;
    make_private_directory(folder);
}

/// Write-ahead logging where it can be relied on: readers and a writer then do not wait for each other.
void choose_journal(sqlite::Connection& connection) {
    struct statfs system {};
    const bool shared = ::statfs(connection.path().c_str(), &system) != 0 ||
                        is_shared_file_system(static_cast<unsigned long>(system.f_type));
    const std::string wanted = shared ? "delete" : "wal";
    std::string mode = connection.value_of("PRAGMA journal_mode");
    if (mode != wanted) {
        try {
            mode = connection.value_of("PRAGMA journal_mode = " + wanted);
        } catch (const sqlite::Failure&) {
            // Another process is at work, or the log's shared memory is not to be had. The journal as it is also works.
            mode = connection.value_of("PRAGMA journal_mode");
        }
    }
    // With a log, NORMAL keeps the database sound and may lose the last trials when the power fails.
    connection.execute(mode == "wal" ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
}

std::unique_ptr<sqlite::Connection> open_read_write(const fs::path& path) {
    make_missing_folders(path.parent_path());
    check_place(path);
    if (!can_write(path.parent_path())) {
        fail(path, fmt::format("cannot be written: its folder refuses new files: {}", std::strerror(errno)));
    }
    auto connection = std::make_unique<sqlite::Connection>(path, sqlite::Access::read_write);
    // SQLite opens a file that may not be written for reading, silently.
    if (connection->is_read_only()) fail(path, "cannot be written: the file is read-only for this user");
    try {
        if (schema_version(*connection) != k_schema_version) make_schema(*connection);
    } catch (const Error&) {
        connection->leave_log_alone();
        throw;
    }
    choose_journal(*connection);
    return connection;
}

/// The first look at the content; the file may turn out to need a log that cannot be made.
void check_readable(sqlite::Connection& connection) {
    const int version = schema_version(connection);
    if (version == 0) fail(connection.path(), "is empty: nothing was ever stored in it");
    if (version < k_schema_version) {
        fail(connection.path(), "was written by an older tconv: the next tconv tune brings it up to date");
    }
}

std::unique_ptr<sqlite::Connection> open_immutable(const fs::path& path) {
    std::error_code error;
    const auto log_size = fs::file_size(path.string() + "-wal", error);
    if (!error && log_size > 0) {
        fail(path, "has changes in its '-wal' file that cannot be read where the folder cannot be written");
    }
    auto connection = std::make_unique<sqlite::Connection>(path, sqlite::Access::immutable);
    check_readable(*connection);
    return connection;
}

std::unique_ptr<sqlite::Connection> open_read_only(const fs::path& path) {
    if (!check_place(path)) fail(path, "does not exist");
    try {
        auto connection = std::make_unique<sqlite::Connection>(path, sqlite::Access::read_only);
        check_readable(*connection);
        return connection;
    } catch (const sqlite::Failure& failure) {
        const bool needs_a_log =
            failure.reason() == sqlite::Reason::cannot_open || failure.reason() == sqlite::Reason::read_only;
        if (!needs_a_log || can_write(path.parent_path()) || ::access(path.c_str(), R_OK) != 0) throw;
    }
    return open_immutable(path);
}

}  // namespace

bool is_shared_file_system(unsigned long magic) {
    constexpr std::array<unsigned long, 15> k_shared{
        0x6969,      // NFS
        0x517b,      // SMB
        0xff534d42,  // CIFS
        0xfe534d42,  // SMB 2
        0x0bd00bd0,  // Lustre
        0x47504653,  // GPFS
        0x65735546,  // FUSE
        0x00c36400,  // Ceph
        0x19830326,  // BeeGFS
        0x01021997,  // 9P
        0x01161970,  // GFS2
        0x7461636f,  // OCFS2
        0x5346414f,  // AFS
        0xaad7aaea,  // PanFS
        0x786f4256,  // VirtualBox shared folders
    };
    return std::find(k_shared.begin(), k_shared.end(), magic & 0xffffffff) != k_shared.end();
}

std::unique_ptr<sqlite::Connection> open_database(const fs::path& path, OpenMode mode) {
    const fs::path whole = fs::absolute(path);
    return mode == OpenMode::read_write ? open_read_write(whole) : open_read_only(whole);
}

}  // namespace tconv
