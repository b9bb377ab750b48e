#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/outcome.hpp"
#include "tuner/workers/child_process.hpp"
#include "tuner/workers/framing.hpp"

namespace tconv {

/// Why a worker gave no answer. It is gone.
struct WorkerFailure {
    OutcomeKind kind = OutcomeKind::crashed;  ///< crashed or timeout
    std::string reason;                       ///< one sentence, then what the worker said of it, if anything
};

using Answer = std::variant<Message, WorkerFailure>;

/// How long a worker may be at one thing and how much memory it may take.
struct WorkerLimits {
    double start_seconds = 60;  ///< until it says what it is
    double compile_seconds = 120;
    double run_seconds = 10;          ///< one launch
    double validation_seconds = 120;  ///< all launches and checks of a candidate
    std::int64_t memory_bytes = std::int64_t{16} << 30;
};

/// A process of ours that does what it is asked, one thing at a time (see docs/workers.md).
class Worker {
public:
    using Clock = std::chrono::steady_clock;

    /// Starts it and waits for its greeting. Throws Error(unavailable) when it does not come, or says why it cannot
    /// work.
    Worker(const std::vector<std::string>& command, const WorkerLimits& limits);

    /// What it said of itself.
    [[nodiscard]] const Message& greeting() const { return greeting_; }

    /// Sends a request and waits for the answer. `seconds` is for the whole of it; `after_notice`, where given, is told
    /// what the worker says that it is at, and gives the seconds from then on (at most those left of the whole;
    /// negative: a new whole). After a failure the worker is gone.
    [[nodiscard]] Answer ask(const Message& request, double seconds,
                             const std::function<double(const std::string&)>& after_notice = {});

    /// Whether its memory takes half of what the limit leaves beside what it took at first, or at
    /// `take_size_as_normal`: time for another one before the limit meets a candidate that is not to blame.
    [[nodiscard]] bool has_grown() const;
    void take_size_as_normal();

    /// For messages and tests.
    [[nodiscard]] pid_t id() const { return process_.id(); }

private:
    struct Deadline {
        Clock::time_point whole;  // of the request
        Clock::time_point next;   // of what the worker is at
        double allowed;           // seconds that led to `next`
    };

    [[nodiscard]] Answer receive(double seconds, const std::function<double(const std::string&)>& after_notice);
    /// The next message that is no notice, among those that have come. Throws Error(device) for what is none.
    [[nodiscard]] std::optional<Message> take_answer(Deadline& deadline,
                                                     const std::function<double(const std::string&)>& after_notice);
    [[nodiscard]] WorkerFailure fail(OutcomeKind kind, const std::string& sentence);

    WorkerLimits limits_;
    ChildProcess process_;
    std::string received_;
    std::string at_;  // what it said last that it was at
    Message greeting_;
    std::int64_t bytes_at_start_ = 0;
};

/// Calls `start` until it succeeds, some times with longer and longer pauses: a machine can be short of something for a
/// moment. Throws Error(unavailable) when it does not succeed.
[[nodiscard]] std::unique_ptr<Worker> restart_worker(const std::function<std::unique_ptr<Worker>()>& start);

/// The sentence of an answer that is an error.
[[nodiscard]] std::string error_of(const Message& answer);

}  // namespace tconv
