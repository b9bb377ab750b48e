#include "device/emulator/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>

#include "core/error.hpp"

namespace tconv::emulator {
namespace {

using Clock = std::chrono::steady_clock;

/// The two ends of a pipe that no other program inherits.
class Pipe {
public:
    Pipe() {
        if (pipe2(ends_, O_CLOEXEC) != 0) {
            throw Error(ErrorKind::unavailable, fmt::format("a pipe cannot be made: {}", std::strerror(errno)));
        }
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close(ends_[0]);
        close_writer();
    }
    [[nodiscard]] int reader() const { return ends_[0]; }
    [[nodiscard]] int writer() const { return ends_[1]; }
    void close_writer() {
        if (ends_[1] >= 0) close(ends_[1]);
        ends_[1] = -1;
    }

private:
    int ends_[2] = {-1, -1};
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const std::string& text : texts)
        pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

/// Ours, with another folder for temporary files where one is given.
std::vector<std::string> environment_with(const std::string& folder) {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (folder.empty() || std::strncmp(*variable, "TMPDIR=", 7) != 0) variables.emplace_back(*variable);
    }
    if (!folder.empty()) variables.push_back("TMPDIR=" + folder);
    return variables;
}

pid_t spawn(const std::vector<std::string>& arguments, int output, const std::string& folder) {
    const std::vector<std::string> variables = environment_with(folder);
    const std::vector<char*> words = pointers_to(arguments);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    // A group of its own, so that a compiler that is stopped takes its passes with it.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    pid_t process = -1;
    const int error =
        posix_spawn(&process, words[0], &actions, &attributes, words.data(), pointers_to(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        throw Error(ErrorKind::unavailable,
                    fmt::format("the program '{}' cannot be started: {}", arguments[0], std::strerror(error)));
    }
    return process;
}

/// Reads until the end; false when `deadline` came first.
bool read_output(int reader, Clock::time_point deadline, std::size_t output_limit, std::string& output) {
    char buffer[4096];
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd waiting{reader, POLLIN, 0};
        const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(std::min<long long>(left, 60'000))) : 0;
        if (ready == 0 && Clock::now() >= deadline) return false;
        if (ready <= 0) continue;
        const ssize_t count = read(reader, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return true;
        const std::size_t room = output_limit - std::min(output.size(), output_limit);
        output.append(buffer, std::min(static_cast<std::size_t>(count), room));
    }
}

/// The process groups of the programs that run now.
struct Running {
    std::mutex mutex;
    std::set<pid_t> groups;
    bool over = false;  ///< none is started any more
};

Running& running() {
    static Running all;
    return all;
}

pid_t start(const std::vector<std::string>& arguments, int output, const std::string& folder) {
    const std::lock_guard lock(running().mutex);
    if (running().over) throw Error(ErrorKind::unavailable, "this process is ending and starts no program any more");
    const pid_t process = spawn(arguments, output, folder);
    running().groups.insert(process);
    return process;
}

int wait_for(pid_t process) {
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    // Its number may go to another process once it is reaped.
    const std::lock_guard lock(running().mutex);
    running().groups.erase(process);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                          std::size_t output_limit, const std::string& folder) {
    const Clock::time_point deadline = Clock::now() + limit;
    ProgramResult result;
    Pipe pipe;
    const pid_t process = start(arguments, pipe.writer(), folder);
    pipe.close_writer();
    result.timed_out = !read_output(pipe.reader(), deadline, output_limit, result.output);
    if (result.timed_out) kill(-process, SIGKILL);
    result.exit_code = wait_for(process);
    return result;
}

void end_programs() {
    const std::lock_guard lock(running().mutex);
    running().over = true;
    for (const pid_t group : running().groups)
        kill(-group, SIGKILL);
}

}  // namespace tconv::emulator
