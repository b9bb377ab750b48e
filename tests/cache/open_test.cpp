#include "cache/open.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>

#include "cache/database.hpp"
#include "samples.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;
namespace fs = std::filesystem;

namespace {

void make_database(const fs::path& path) {
    Database database(path, OpenMode::read_write);
    database.record(sample_gpu(), sample_trial(sample_problem(), 1, 1.0), sample_binary(1));
}

std::string open_error(const fs::path& path, OpenMode mode) {
    return cache_error([&] { const Database database(path, mode); });
}

/// A folder with a database that nobody but its owner may write to.
void lock_folder(const fs::path& folder) {
    fs::permissions(folder.parent_path(), fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
    fs::permissions(folder,
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec | fs::perms::others_read);
}

void check_unprivileged(const std::function<int()>& body) {
    const int code = run_unprivileged(body);
    if (code == k_skipped) WARN("skipped: this machine does not allow to change the user");
    CHECK((code == 0 || code == k_skipped));
}

bool holds_all(const std::string& text, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        if (text.find(word) == std::string::npos) {
            std::fprintf(stderr, "no '%s' in: %s\n", word.c_str(), text.c_str());
            return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("network and user-space file systems are told from local ones") {
    for (const unsigned long magic :
         {0x6969ul, 0x517bul, 0xff534d42ul, 0x0bd00bd0ul, 0x47504653ul, 0x65735546ul, 0xffffffffff534d42ul})
        CHECK(is_shared_file_system(magic));
    for (const unsigned long magic : {0xef53ul, 0x01021994ul, 0x58465342ul, 0x9123683eul, 0x794c7630ul})
        CHECK_FALSE(is_shared_file_system(magic));
}

TEST_CASE("the journal is a write-ahead log exactly on a local file system") {
    const ScratchFolder scratch;
    make_database(scratch / "t.db");
    struct statfs system {};
    REQUIRE(::statfs(scratch.path().c_str(), &system) == 0);
    const bool shared = is_shared_file_system(static_cast<unsigned long>(system.f_type));
    CHECK(query_sql(scratch / "t.db", "PRAGMA journal_mode") == std::vector<std::string>{shared ? "delete" : "wal"});
    CHECK(names_in(scratch.path()) == std::vector<std::string>{"t.db"});  // no log is left after the last one closes
}

TEST_CASE("missing folders are made, for the owner alone") {
    const ScratchFolder scratch;
    make_database(scratch / "a/b/t.db");
    struct stat status {};
    REQUIRE(::stat((scratch / "a").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0700);
    CHECK(open_error(scratch / "a/b/t.db", OpenMode::read_only).empty());
}

TEST_CASE("a reader makes no file and no folder") {
    const ScratchFolder scratch;
    CHECK(holds_all(open_error(scratch / "a/t.db", OpenMode::read_only), {(scratch / "a/t.db").string(), "exist"}));
    CHECK(names_in(scratch.path()).empty());
}

TEST_CASE("places that cannot hold a database are named with the reason") {
    const ScratchFolder scratch;
    write_bytes(scratch / "file", "x");
    fs::create_directory(scratch / "folder");
    REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
    for (const OpenMode mode : {OpenMode::read_write, OpenMode::read_only}) {
        CHECK(holds_all(open_error(scratch / "folder", mode), {"folder' is a folder"}));
        CHECK(holds_all(open_error(scratch / "pipe", mode), {"pipe' is a device or a pipe"}));
        CHECK(holds_all(open_error("/dev/null", mode), {"/dev/null' is a device or a pipe"}));
        CHECK(holds_all(open_error(scratch / "file/t.db", mode), {(scratch / "file").string()}));
    }
    CHECK(holds_all(open_error("/proc/no/such/t.db", OpenMode::read_write), {"/proc/no", "cannot be made"}));
    CHECK(holds_all(open_error("/proc/t.db", OpenMode::read_write), {"/proc/t.db", "cannot be"}));
}

TEST_CASE("where the folder cannot be written a reader still reads, and a writer is refused with the reason") {
    const ScratchFolder scratch;
    make_database(scratch / "site/t.db");
    const std::string before = read_bytes(scratch / "site/t.db");
    fs::permissions(scratch / "site/t.db", fs::perms::owner_all | fs::perms::others_read);
    lock_folder(scratch / "site");
    check_unprivileged([&] {
        Database reader(scratch / "site/t.db", OpenMode::read_only);
        const auto winner = reader.winner(sample_problem(), sample_gpu(), 1);
        if (!winner || winner->binary != sample_binary(1)) return 1;
        reader.note_request(sample_gpu(), sample_problem(), 1e-4);
        const std::string error =
            cache_error([&] { reader.record(sample_gpu(), sample_trial(sample_problem(), 2, 1.0), {}); });
        if (!holds_all(error, {"t.db", "cannot be written"})) return 2;
        const std::string refused = open_error(scratch / "site/t.db", OpenMode::read_write);
        return holds_all(refused, {"t.db", "cannot be written", "Permission denied"}) ? 0 : 3;
    });
    CHECK(read_bytes(scratch / "site/t.db") == before);
    CHECK(names_in(scratch / "site").size() == 1);
}

TEST_CASE("a log that cannot be read with its database is an error, never an old answer") {
    const ScratchFolder scratch;
    make_database(scratch / "site/t.db");
    write_bytes(scratch / "site/t.db-wal", std::string(5000, 'x'));
    for (const char* const name : {"site/t.db", "site/t.db-wal"})
        fs::permissions(scratch / name, fs::perms::owner_all | fs::perms::others_read);
    lock_folder(scratch / "site");
    check_unprivileged([&] {
        return holds_all(open_error(scratch / "site/t.db", OpenMode::read_only), {"t.db", "-wal"}) ? 0 : 1;
    });
}

TEST_CASE("a file that this user may not read or write is named with the reason") {
    const ScratchFolder scratch;
    make_database(scratch / "t.db");
    fs::permissions(scratch.path(), fs::perms::all);
    fs::permissions(scratch / "t.db", fs::perms::none);
    check_unprivileged([&] {
        for (const OpenMode mode : {OpenMode::read_write, OpenMode::read_only}) {
            if (!holds_all(open_error(scratch / "t.db", mode), {"t.db", "cannot be opened", "Permission denied"}))
                return 1;
        }
        return 0;
    });
    fs::permissions(scratch / "t.db", fs::perms::owner_read | fs::perms::others_read);
    check_unprivileged([&] {
        return holds_all(open_error(scratch / "t.db", OpenMode::read_write), {"t.db", "cannot be written"}) ? 0 : 1;
    });
}

TEST_CASE("a note on a locked database does not wait and does not fail") {
    const ScratchFolder scratch;
    make_database(scratch / "t.db");
    Database database(scratch / "t.db", OpenMode::read_write);
    sqlite::Connection other(scratch / "t.db", sqlite::Access::read_write);
    {
        const sqlite::Transaction held(other);
        database.note_request(sample_gpu(), sample_problem(), 1e-4);
    }
    CHECK(query_sql(scratch / "t.db", "SELECT count(*) FROM request") == std::vector<std::string>{"0"});
    database.note_request(sample_gpu(), sample_problem(), 1e-4);
    CHECK(query_sql(scratch / "t.db", "SELECT count(*) FROM request") == std::vector<std::string>{"1"});
}
