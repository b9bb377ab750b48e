#include "cache/paths.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;
namespace fs = std::filesystem;

namespace {

unsigned mode_of(const fs::path& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777;
}

/// All variables that the paths depend on, unset but for those given.
Environment only(std::vector<std::pair<std::string, std::string>> set) {
    for (const char* const name : {"TCONV_DATABASE", "TCONV_CACHE", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME"})
        set.insert(set.begin(), {name, ""});
    return Environment(set);
}

}  // namespace

TEST_CASE("the database's path follows TCONV_DATABASE, then XDG_DATA_HOME, then HOME") {
    {
        const Environment set = only({{"TCONV_DATABASE", "/a/x.db"}, {"XDG_DATA_HOME", "/b"}, {"HOME", "/c"}});
        CHECK(default_database_path() == "/a/x.db");
    }
    {
        const Environment set = only({{"XDG_DATA_HOME", "/b"}, {"HOME", "/c"}});
        CHECK(default_database_path() == "/b/tconv/tconv.db");
    }
    {
        const Environment set = only({{"HOME", "/c"}});
        CHECK(default_database_path() == "/c/.local/share/tconv/tconv.db");
    }
}

TEST_CASE("a relative XDG_DATA_HOME is ignored, a relative TCONV_DATABASE is not") {
    {
        const Environment set = only({{"XDG_DATA_HOME", "b"}, {"HOME", "/c"}});
        CHECK(default_database_path() == "/c/.local/share/tconv/tconv.db");
    }
    {
        const Environment set = only({{"TCONV_DATABASE", "x.db"}});
        CHECK(default_database_path() == fs::current_path() / "x.db");
    }
}

TEST_CASE("without any variable the error names them") {
    const Environment set = only({});
    const std::string error = cache_error([] { (void)default_database_path(); });
    for (const char* const name : {"TCONV_DATABASE", "XDG_DATA_HOME", "HOME"})
        CHECK(error.find(name) != std::string::npos);
}

TEST_CASE("the code folder follows TCONV_CACHE, then XDG_CACHE_HOME, then HOME, and is made private") {
    const ScratchFolder scratch;
    const std::string own = scratch / "own", xdg = scratch / "xdg", home = scratch / "home";
    {
        const Environment set = only({{"TCONV_CACHE", own}, {"XDG_CACHE_HOME", xdg}, {"HOME", home}});
        CHECK(code_directory() == own);
        CHECK(mode_of(own) == 0700);
    }
    {
        const Environment set = only({{"XDG_CACHE_HOME", xdg}, {"HOME", home}});
        CHECK(code_directory() == xdg + "/tconv");
        CHECK(mode_of(xdg + "/tconv") == 0700);
    }
    {
        const Environment set = only({{"HOME", home}});
        CHECK(code_directory() == home + "/.cache/tconv");
        CHECK(lasting_code_directory() == home + "/.cache/tconv");
        CHECK(mode_of(home + "/.cache") == 0700);
    }
}

TEST_CASE("without a usable code folder a private one is made for this process alone and removed at its end") {
    const ScratchFolder scratch;
    fs::permissions(scratch.path(), fs::perms::all);
    const fs::path answer = scratch / "answer";
    const std::vector<std::string> unusable{"", "/proc/no/such", "/dev/null/x"};
    for (const std::string& value : unusable) {
        const int code = run_in_child([&]() -> int {
            const Environment set = only({{"TCONV_CACHE", value}, {"TMPDIR", scratch.path()}});
            // A process of its own, so that the folder's end can be seen: exit, not _exit.
            const fs::path folder = code_directory();
            if (folder.parent_path() != scratch.path() || mode_of(folder) != 0700) return 1;
            if (code_directory() != folder || lasting_code_directory()) return 2;
            write_bytes(folder / "x", "x");
            if (run_in_child([]() -> int { std::exit(0); }) != 0 || !fs::exists(folder / "x")) return 3;
            write_bytes(answer, folder.string());
            std::exit(0);
        });
        CHECK(code == 0);
        CHECK_FALSE(fs::exists(read_bytes(answer)));
    }
}

TEST_CASE("a code folder that may not be written falls back") {
    const ScratchFolder scratch;
    const fs::path folder = scratch / "locked";
    fs::create_directory(folder);
    fs::permissions(scratch.path(), fs::perms::all);
    fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read);
    const int code = run_unprivileged([&] {
        const Environment set = only({{"TCONV_CACHE", folder / "below"}, {"TMPDIR", scratch.path()}});
        return code_directory().filename().string().rfind("tconv-", 0) == 0 ? 0 : 1;
    });
    if (code == k_skipped) WARN("skipped: this machine does not allow to change the user");
    CHECK((code == 0 || code == k_skipped));
}

TEST_CASE("a folder that others can write to is refused") {
    const ScratchFolder scratch;
    const fs::path folder = scratch / "open";
    fs::create_directory(folder);
    for (const fs::perms bit : {fs::perms::group_write, fs::perms::others_write}) {
        fs::permissions(folder, fs::perms::owner_all | bit);
        const std::string error = cache_error([&] { make_private_directory(folder); });
        CHECK(error.find("can be written by others") != std::string::npos);
        CHECK(error.find(folder.string()) != std::string::npos);
    }
    fs::permissions(folder, fs::perms::owner_all);
    make_private_directory(folder);
}

TEST_CASE("a folder of another user is refused") {
    const ScratchFolder scratch;
    if (::geteuid() != 0) {
        WARN("skipped: only root can make a folder of another user");
        return;
    }
    const fs::path folder = scratch / "foreign";
    fs::create_directory(folder);
    REQUIRE(::chown(folder.c_str(), 65534, 65534) == 0);
    CHECK(cache_error([&] { make_private_directory(folder); }).find("belongs to user 65534") != std::string::npos);
}

TEST_CASE("a file in the place of a folder is named in the error") {
    const ScratchFolder scratch;
    write_bytes(scratch / "file", "x");
    const std::string error = cache_error([&] { make_private_directory(scratch / "file/below"); });
    CHECK(error.find((scratch / "file").string()) != std::string::npos);
}
