#pragma once

#include <signal.h>

#include <atomic>
#include <stop_token>
#include <thread>

namespace tconv {

/// While it lives, SIGINT and SIGTERM request a stop instead of ending the process; a second one ends it at once with
/// exit code 130. The signals are blocked and waited for, so that programs started meanwhile (compilers) finish their
/// work instead of failing.
class InterruptWatch {
public:
    InterruptWatch();
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

    [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
    [[nodiscard]] bool interrupted() const { return source_.stop_requested(); }

private:
    void wait(const std::stop_token& done);

    sigset_t signals_{};
    sigset_t previous_{};
    std::stop_source source_;
    std::jthread waiter_;
};

}  // namespace tconv
