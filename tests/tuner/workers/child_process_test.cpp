#include "tuner/workers/child_process.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

using namespace tconv;
using Clock = std::chrono::steady_clock;

namespace {

Clock::time_point in_a_minute() {
    return Clock::now() + std::chrono::seconds(60);
}

Clock::time_point in_a_moment() {
    return Clock::now() + std::chrono::milliseconds(100);
}

std::vector<std::string> shell(const std::string& script) {
    return {"/bin/sh", "-c", script};
}

std::string read_all(ChildProcess& process) {
    std::string bytes;
    while (process.read(bytes, in_a_minute()) == ChildProcess::Read::some) {
    }
    return bytes;
}

std::ptrdiff_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
}

bool is_gone(pid_t id) {
    return ::kill(id, 0) != 0 && errno == ESRCH;
}

/// True as soon as `condition` is, within a minute.
template <class Condition>
bool soon(Condition&& condition) {
    for (const auto deadline = in_a_minute(); Clock::now() < deadline;) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

}  // namespace

TEST_CASE("a child's exit code is told") {
    for (const int code : {0, 1, 3, 127, 255}) {
        ChildProcess child(shell("exit " + std::to_string(code)));
        CHECK(read_all(child).empty());
        const ProcessEnd end = child.wait();
        CHECK(end.exit_code == code);
        CHECK(end.signal == 0);
        CHECK(describe(end) == "ended with exit code " + std::to_string(code));
    }
}

TEST_CASE("a signal that ends a child is told") {
    for (const int number : {SIGSEGV, SIGABRT, SIGTERM, SIGKILL}) {
        ChildProcess child(shell("kill -" + std::to_string(number) + " $$"));
        CHECK(read_all(child).empty());
        const ProcessEnd end = child.wait();
        CHECK(end.signal == number);
        CHECK(!end.killed);
        CHECK_THAT(describe(end), contains("was ended by signal " + std::to_string(number)));
    }
}

TEST_CASE("much goes both ways at once") {
    ChildProcess child({"/bin/cat"});
    std::string sent(5'000'000, '\0');
    for (std::size_t i = 0; i < sent.size(); ++i)
        sent[i] = static_cast<char>(i * 2654435761U >> 13U);
    bool written = false;
    std::thread writer([&] { written = child.write(sent, in_a_minute()); });
    std::string came;
    while (came.size() < sent.size() && child.read(came, in_a_minute()) == ChildProcess::Read::some) {
    }
    writer.join();
    CHECK(written);
    CHECK(came == sent);
}

TEST_CASE("a child that never reads costs a write its deadline") {
    ChildProcess child(shell("sleep 1000"));
    CHECK(!child.write(std::string(5'000'000, 'x'), in_a_moment()));
    CHECK(child.kill().signal == SIGKILL);
}

TEST_CASE("writing to a child that is gone is false, and no signal") {
    struct sigaction before {};
    sigaction(SIGPIPE, nullptr, &before);
    REQUIRE(before.sa_handler == SIG_DFL);
    ChildProcess child(shell("exit 0"));
    CHECK(read_all(child).empty());
    (void)child.wait();
    CHECK(!child.write(std::string(5'000'000, 'x'), in_a_minute()));
}

TEST_CASE("a child that closes its output and stays is ended") {
    ChildProcess child(shell("exec >&- 2>&-; trap '' TERM HUP; while :; do sleep 1000; done"));
    CHECK(read_all(child).empty());
    const ProcessEnd end = child.wait();
    CHECK(end.killed);
    CHECK(describe(end) == "closed its streams and did not end");
    CHECK(is_gone(child.id()));
}

TEST_CASE("reading waits no longer than its deadline") {
    std::string bytes;
    ChildProcess quiet(shell("sleep 1000"));
    CHECK(quiet.read(bytes, in_a_moment()) == ChildProcess::Read::timed_out);
    ChildProcess closed_error(shell("exec 2>&-; sleep 1000"));
    CHECK(closed_error.read(bytes, in_a_moment()) == ChildProcess::Read::timed_out);
    CHECK(bytes.empty());
}

TEST_CASE("a flood of complaints neither fills the memory nor puts a deadline off") {
    ChildProcess child(shell("while :; do echo complaint complaint complaint >&2; done"));
    std::string bytes;
    CHECK(child.read(bytes, in_a_moment()) == ChildProcess::Read::timed_out);
    CHECK(!child.write(std::string(5'000'000, 'x'), in_a_moment()));
    CHECK_THAT(child.complaints(), contains("complaint"));
    CHECK(child.complaints().size() < 100'000);
}

TEST_CASE("the last complaints are kept, and can be forgotten") {
    ChildProcess child(shell("seq 1 100000 >&2; echo done; read line; echo again >&2"));
    std::string bytes;
    REQUIRE(child.read(bytes, in_a_minute()) == ChildProcess::Read::some);
    child.forget_complaints();
    CHECK(child.complaints().empty());
    REQUIRE(child.write("go\n", in_a_minute()));
    CHECK(read_all(child).empty());
    (void)child.wait();
    CHECK_THAT(child.complaints(), contains("again"));
}

TEST_CASE("a program that is not there is an error that names it") {
    const std::ptrdiff_t before = open_descriptors();
    CHECK_THROWS_WITH(ChildProcess({"/no/such/program"}), contains("/no/such/program"));
    CHECK(open_descriptors() == before);
}

TEST_CASE("a child leaves neither a zombie nor an open descriptor") {
    const std::ptrdiff_t before = open_descriptors();
    std::vector<pid_t> ids;
    for (const char* script : {"exit 0", "cat", "sleep 1000", "kill -9 $$"}) {
        ChildProcess child(shell(script));
        ids.push_back(child.id());
    }
    CHECK(open_descriptors() == before);
    for (const pid_t id : ids)
        CHECK(is_gone(id));
    CHECK((::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD));
}

TEST_CASE("a child has its three streams alone, whatever is open here") {
    int leaking[2];
    REQUIRE(::pipe(leaking) == 0);  // inherited by default
    ChildProcess child({"/bin/ls", "/proc/self/fd"});
    CHECK(read_all(child) == "0\n1\n2\n3\n");  // the last one is how it reads the folder
    ::close(leaking[0]);
    ::close(leaking[1]);
}

TEST_CASE("signals blocked or ignored here are neither in the child, which has a group of its own") {
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const auto handler = ::signal(SIGUSR1, SIG_IGN);
    {
        ChildProcess child({"/bin/grep", "-hE", "^SigBlk|^SigIgn|^NSpgid", "/proc/self/status"});
        const std::string told = read_all(child);
        CHECK_THAT(told, contains("SigBlk:\t0000000000000000"));
        const std::size_t ignored = told.find("SigIgn:") + 7;
        CHECK((std::stoull(told.substr(ignored), nullptr, 16) >> (SIGUSR1 - 1) & 1) == 0);
        CHECK_THAT(told, contains("NSpgid:\t" + std::to_string(child.id())));
    }
    ::signal(SIGUSR1, handler);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("a child that is ended takes the programs that it started with it") {
    ChildProcess child(shell("set -m; sleep 1000 & echo $!; wait"));
    std::string bytes;
    while (bytes.find('\n') == std::string::npos)
        REQUIRE(child.read(bytes, in_a_minute()) == ChildProcess::Read::some);
    const pid_t grandchild = std::stoi(bytes);
    REQUIRE(::kill(grandchild, 0) == 0);
    (void)child.kill();
    // Whoever inherits it collects it.
    CHECK(soon([&] {
        std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
        std::string number, name, state;
        return !(stat >> number >> name >> state) || state == "Z";
    }));
}

TEST_CASE("the memory of a child is told") {
    ChildProcess child(shell("echo ready; read line"));
    std::string bytes;
    REQUIRE(child.read(bytes, in_a_minute()) == ChildProcess::Read::some);
    CHECK(child.resident_bytes() > 100'000);
    CHECK(!child.ended());
    (void)child.kill();
    CHECK(child.ended());
    CHECK(child.resident_bytes() == 0);
}
