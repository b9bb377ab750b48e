#include "tuner/workers/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "core/error.hpp"

extern char** environ;

namespace tconv {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t k_most_complaints = 16384;
constexpr std::chrono::milliseconds k_moment{700};     // for a worker to see that its input is closed
constexpr std::chrono::seconds k_end_patience{1};      // for an end that is coming by itself
constexpr std::chrono::seconds k_patience_killed{10};  // a process inside a driver can take its time to die

struct Pipe {
    int read = -1;
    int write = -1;
};

Pipe make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw Error(ErrorKind::unavailable, fmt::format("no pipe can be made: {}", std::strerror(errno)));
    return {ends[0], ends[1]};
}

/// A socket, since writing to one whose other end is gone need not raise SIGPIPE.
Pipe make_input() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw Error(ErrorKind::unavailable, fmt::format("no socket can be made: {}", std::strerror(errno)));
    return {ends[0], ends[1]};
}

/// What the child gets as its standard streams.
class SpawnActions {
public:
    SpawnActions() { posix_spawn_file_actions_init(&actions_); }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;
    ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
    void use(int descriptor, int as) { posix_spawn_file_actions_adddup2(&actions_, descriptor, as); }
    /// What some library, or whoever started this program, opened without thought of children is none of theirs.
    void close_all_others() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
        posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
#endif
    }
    [[nodiscard]] const posix_spawn_file_actions_t* get() const {
        return &actions_;
    }

private:
    posix_spawn_file_actions_t actions_{};
};

/// Signals at their defaults and none blocked: the parent may be waiting for some of them.
class SpawnAttributes {
public:
    SpawnAttributes() {
        posix_spawnattr_init(&attributes_);
        sigset_t none;
        sigset_t all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setsigdefault(&attributes_, &all);
        // A group of its own: Ctrl-C is the parent's business.
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    SpawnAttributes(const SpawnAttributes&) = delete;
    SpawnAttributes& operator=(const SpawnAttributes&) = delete;
    ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
    [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

int milliseconds_until(Clock::time_point deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 1000 * 3600));
}

void set_nonblocking(int descriptor) {
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

ProcessEnd end_of(int status) {
    if (WIFSIGNALED(status)) return {0, WTERMSIG(status), false};
    return {WEXITSTATUS(status), 0, false};
}

}  // namespace

std::string describe(const ProcessEnd& end) {
    if (end.killed) return "closed its streams and did not end";
    if (end.signal != 0) return fmt::format("was ended by signal {} ({})", end.signal, strsignal(end.signal));
    return fmt::format("ended with exit code {}", end.exit_code);
}

void signal_children_of(pid_t parent, int number) {
    std::error_code ignored;
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", parent), ignored)) {
        std::ifstream children(task.path() / "children");
        for (pid_t child = 0; children >> child;) {
            if (child <= 1) continue;
            ::kill(-child, number);
            ::kill(child, number);
        }
    }
}

void ChildProcess::Descriptor::reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
}

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
    const Pipe input = make_input();
    const Descriptor child_input(input.read);
    input_.reset(input.write);
    const Pipe output = make_pipe();
    const Descriptor child_output(output.write);
    output_.reset(output.read);
    const Pipe error = make_pipe();
    const Descriptor child_error(error.write);
    error_.reset(error.read);

    SpawnActions actions;
    actions.use(child_input.get(), STDIN_FILENO);
    actions.use(child_output.get(), STDOUT_FILENO);
    actions.use(child_error.get(), STDERR_FILENO);
    actions.close_all_others();
    const SpawnAttributes attributes;
    std::vector<char*> arguments;
    for (const std::string& argument : command)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const int failure =
        ::posix_spawn(&id_, command.front().c_str(), actions.get(), attributes.get(), arguments.data(), environ);
    if (failure != 0) {
        throw Error(ErrorKind::unavailable,
                    fmt::format("the program '{}' cannot be started: {}", command.front(), std::strerror(failure)));
    }
    set_nonblocking(input_.get());
    set_nonblocking(output_.get());
    set_nonblocking(error_.get());
}

ChildProcess::~ChildProcess() {
    input_.reset();
    wait();
}

bool ChildProcess::write(const std::string& bytes, Clock::time_point deadline) {
    std::size_t written = 0;
    while (written < bytes.size()) {
        const ssize_t count = ::send(input_.get(), bytes.data() + written, bytes.size() - written, MSG_NOSIGNAL);
        if (count > 0) {
            written += static_cast<std::size_t>(count);
            continue;
        }
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno != EAGAIN) return false;
        if (Clock::now() >= deadline) return false;
        wait_until_ready({input_.get(), POLLOUT, 0}, deadline);
    }
    return true;
}

ChildProcess::Read ChildProcess::read(std::string& bytes, Clock::time_point deadline) {
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t count = ::read(output_.get(), buffer.data(), buffer.size());
        if (count > 0) {
            bytes.append(buffer.data(), static_cast<std::size_t>(count));
            return Read::some;
        }
        if (count < 0 && errno == EINTR) continue;
        if (count == 0 || errno != EAGAIN) {
            take_complaints();
            return Read::ended;
        }
        if (Clock::now() >= deadline) return Read::timed_out;
        wait_until_ready({output_.get(), POLLIN, 0}, deadline);
    }
}

void ChildProcess::wait_until_ready(pollfd wanted, Clock::time_point deadline) {
    // A negative descriptor is passed over.
    std::array<pollfd, 2> waits{{wanted, {error_.get(), POLLIN, 0}}};
    (void)::poll(waits.data(), waits.size(), milliseconds_until(deadline));
    if (waits[1].revents != 0) take_complaints();
}

void ChildProcess::take_complaints() {
    std::array<char, 4096> buffer{};
    // A process can write faster than this reads: then the rest waits, so that deadlines are looked at.
    for (int pieces = 0; error_.get() >= 0 && pieces < 16; ++pieces) {
        const ssize_t count = ::read(error_.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) break;
        if (count <= 0) {
            error_.reset();  // a closed stream would be ready for ever
            break;
        }
        complaints_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    if (complaints_.size() > k_most_complaints) complaints_.erase(0, complaints_.size() - k_most_complaints);
}

void ChildProcess::forget_complaints() {
    take_complaints();
    complaints_.clear();
}

std::int64_t ChildProcess::resident_bytes() const {
    std::ifstream statm(fmt::format("/proc/{}/statm", id_));
    std::int64_t total = 0;
    std::int64_t resident = 0;
    if (!(statm >> total >> resident)) return 0;
    return resident * ::sysconf(_SC_PAGESIZE);
}

ProcessEnd ChildProcess::kill() {
    if (!ended()) {
        // Its watch over the input ends it at once, and what it has started with it.
        input_.reset();
        wait_until(Clock::now() + k_moment);
    }
    if (!ended()) {
        ::kill(id_, SIGSTOP);  // it shall neither start more nor say that its children ended
        signal_children_of(id_, SIGKILL);
        ::kill(id_, SIGKILL);
        wait_until(Clock::now() + k_patience_killed);
        // The system still has it; all that we have of it is its number.
        if (!end_) end_ = ProcessEnd{0, SIGKILL, false};
    }
    take_complaints();
    return *end_;
}

ProcessEnd ChildProcess::wait() {
    wait_until(Clock::now() + k_end_patience);
    if (!end_) {
        kill();
        end_->killed = true;
    }
    take_complaints();
    return *end_;
}

bool ChildProcess::ended() {
    if (end_) return true;
    int status = 0;
    const pid_t which = ::waitpid(id_, &status, WNOHANG);
    if (which == id_) end_ = end_of(status);
    if (which < 0 && errno == ECHILD) end_ = ProcessEnd{};  // somebody else waited for it
    return end_.has_value();
}

void ChildProcess::wait_until(Clock::time_point deadline) {
    while (!ended() && Clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace tconv
