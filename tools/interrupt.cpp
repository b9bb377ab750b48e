#include "tools/interrupt.hpp"

#include <unistd.h>

#include <ctime>
#include <string_view>

#include "tools/command.hpp"

namespace tconv {
namespace {

constexpr long k_poll_nanoseconds = 50'000'000;

}  // namespace

InterruptWatch::InterruptWatch() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &previous_);
    waiter_ = std::jthread([this](const std::stop_token& done) { wait(done); });
}

InterruptWatch::~InterruptWatch() {
    waiter_.request_stop();
    waiter_.join();
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void InterruptWatch::wait(const std::stop_token& done) {
    while (!done.stop_requested()) {
        const timespec interval{0, k_poll_nanoseconds};
        if (sigtimedwait(&signals_, nullptr, &interval) < 0) continue;
        if (source_.stop_requested()) _exit(k_exit_interrupted);
        source_.request_stop();
        constexpr std::string_view note = "\nstopping after this trial; once more ends at once\n";
        (void)!write(STDERR_FILENO, note.data(), note.size());
    }
}

}  // namespace tconv
