#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tconv {

/// How a process ended.
struct ProcessEnd {
    int exit_code = 0;    ///< where no signal ended it
    int signal = 0;       ///< 0: none
    bool killed = false;  ///< it should have ended by itself and did not
};

/// "was ended by signal 11 (Segmentation fault)" or "ended with exit code 3".
[[nodiscard]] std::string describe(const ProcessEnd& end);

/// Sends a signal to the programs that a process started, and to their groups: a compiler goes on without the one that
/// asked for it.
void signal_children_of(pid_t parent, int number);

/// A program of our own, started with posix_spawn, with pipes to its standard input, output and error. Ends with the
/// object, by SIGKILL where it has not ended by itself a second after its input was closed.
class ChildProcess {
public:
    /// Throws Error(unavailable) when the program cannot be started.
    explicit ChildProcess(const std::vector<std::string>& command);
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ~ChildProcess();

    /// Writes all, in pieces that the pipe takes; false when the process reads no more or `deadline` has passed.
    [[nodiscard]] bool write(const std::string& bytes, std::chrono::steady_clock::time_point deadline);

    /// Tells the process that nothing more will come.
    void close_input() { input_.reset(); }

    enum class Read { some, ended, timed_out };
    /// Appends what its standard output holds to `bytes`, waiting until `deadline` for the first of it. What it writes
    /// to standard error meanwhile is kept (see `complaints`).
    [[nodiscard]] Read read(std::string& bytes, std::chrono::steady_clock::time_point deadline);

    /// The last lines that it wrote to standard error: some kilobytes at most.
    [[nodiscard]] const std::string& complaints() const { return complaints_; }

    /// Bytes of its memory that are in use; 0 when not known.
    [[nodiscard]] std::int64_t resident_bytes() const;
    [[nodiscard]] pid_t id() const { return id_; }

    /// Drops what it wrote to standard error so far.
    void forget_complaints();

    /// Whether it has ended.
    [[nodiscard]] bool ended();
    /// Ends it and the programs that it started, by closing its input and, a moment later, by SIGKILL, and waits for
    /// its end: ten seconds at most, since a process that is stuck in a driver may never go.
    ProcessEnd kill();
    /// Waits for an end that is coming by itself, for a second at most, then kills it.
    ProcessEnd wait();

private:
    class Descriptor {
    public:
        Descriptor() = default;
        explicit Descriptor(int number) : number_(number) {}
        Descriptor(const Descriptor&) = delete;
        Descriptor& operator=(const Descriptor&) = delete;
        ~Descriptor() { reset(); }
        void reset(int number = -1);
        [[nodiscard]] int get() const { return number_; }

    private:
        int number_ = -1;
    };

    void take_complaints();
    void wait_until_ready(pollfd wanted, std::chrono::steady_clock::time_point deadline);
    void wait_until(std::chrono::steady_clock::time_point deadline);

    pid_t id_ = -1;
    std::optional<ProcessEnd> end_;
    Descriptor input_, output_, error_;
    std::string complaints_;
};

}  // namespace tconv
