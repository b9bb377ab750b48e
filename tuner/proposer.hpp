#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/config.hpp"
#include "tuner/compile_pool.hpp"
#include "tuner/contest.hpp"

namespace tconv {

/// Asks a contest for candidates on a thread of its own and has them compiled, while the device is at others. What is
/// proposed depends on the order of the reports alone: the first `ahead` candidates on none of them, and each further
/// one on one more.
class Proposer {
public:
    /// Proposes `most` candidates at most. Contest and pool outlive the object, and the contest is its own meanwhile
    /// but for what is const.
    Proposer(Contest& contest, CompilePool& pool, std::int64_t most, std::int64_t ahead);
    Proposer(const Proposer&) = delete;
    Proposer& operator=(const Proposer&) = delete;
    /// Waits for the proposal at hand.
    ~Proposer();

    /// How a candidate did: see Contest::report.
    void report(const std::string& family, const Config& config, std::optional<double> milliseconds);

    /// Whether nothing more comes until the next report, if then. Throws what a proposal threw.
    [[nodiscard]] bool is_idle();

private:
    struct Report {
        std::string family;
        Config config;
        std::optional<double> milliseconds;
    };

    void work(const std::stop_token& stop);
    void propose_all_but_stopped(const std::stop_token& stop);

    Contest& contest_;
    CompilePool& pool_;
    std::int64_t left_;     // of the candidates that may be proposed at all
    std::int64_t allowed_;  // of them, without another report
    std::mutex mutex_;
    std::condition_variable_any reported_;
    std::deque<Report> reports_;
    bool busy_ = true;
    std::exception_ptr failure_;
    std::jthread thread_;  // last: it uses the others
};

}  // namespace tconv
