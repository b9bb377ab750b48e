#include "scratch.hpp"

#include <grp.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "core/error.hpp"

namespace tconv::test {
namespace {

constexpr unsigned k_nobody = 65534;

}  // namespace

Environment::Environment(const std::vector<std::pair<std::string, std::string>>& values) {
    for (const auto& [name, value] : values) {
        const char* const old = std::getenv(name.c_str());
        old_.emplace_back(name, old == nullptr ? "" : old);
        if (value.empty()) {
            ::unsetenv(name.c_str());
        } else {
            ::setenv(name.c_str(), value.c_str(), 1);
        }
    }
}

Environment::~Environment() {
    for (const auto& [name, value] : old_) {
        if (value.empty()) {
            ::unsetenv(name.c_str());
        } else {
            ::setenv(name.c_str(), value.c_str(), 1);
        }
    }
}

pid_t start_child(const std::function<int()>& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child > 0) return child;
    int code = 99;
    try {
        code = body();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "child: %s\n", error.what());
    }
    std::fflush(nullptr);
    ::_exit(code);
}

int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int run_in_child(const std::function<int()>& body) {
    return wait_for(start_child(body));
}

int run_unprivileged(const std::function<int()>& body) {
    return run_in_child([&] {
        if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(k_nobody) != 0 || ::setuid(k_nobody) != 0)) {
            return k_skipped;
        }
        return body();
    });
}

std::vector<int> run_together(int count, const std::function<int(int)>& body) {
    int gate[2];
    if (::pipe(gate) != 0) throw std::runtime_error("pipe failed");
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) {
        children.push_back(start_child([&, i] {
            ::close(gate[1]);
            char byte = 0;
            while (::read(gate[0], &byte, 1) < 0) {  // returns when the parent closes its end
            }
            return body(i);
        }));
    }
    ::close(gate[0]);
    ::close(gate[1]);
    std::vector<int> codes;
    std::transform(children.begin(), children.end(), std::back_inserter(codes), wait_for);
    return codes;
}

std::string read_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

std::string cache_error(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& error) {
        return error.kind() == ErrorKind::cache ? error.what() : std::string("wrong kind: ") + error.what();
    }
    return {};
}

std::vector<std::string> query_sql(const std::filesystem::path& path, const std::string& sql) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(path.c_str(), &opened);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, sqlite3_close);
    std::vector<std::string> rows;
    const auto collect = [](void* list, int, char** values, char**) {
        static_cast<std::vector<std::string>*>(list)->emplace_back(values[0] == nullptr ? "" : values[0]);
        return 0;
    };
    if (code != SQLITE_OK || sqlite3_exec(opened, sql.c_str(), collect, &rows, nullptr) != SQLITE_OK) {
        throw std::runtime_error(std::string("raw SQL failed: ") + sqlite3_errmsg(opened));
    }
    return rows;
}

void run_sql(const std::filesystem::path& path, const std::string& sql) {
    (void)query_sql(path, sql);
}

}  // namespace tconv::test
