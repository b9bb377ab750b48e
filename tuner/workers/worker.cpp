#include "tuner/workers/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "tuner/workers/messages.hpp"

namespace tconv {
namespace {

constexpr std::chrono::milliseconds k_watch{200};  // between two looks at the process's memory
constexpr std::chrono::milliseconds k_first_pause{100};
constexpr std::chrono::milliseconds k_longest_pause{2000};
constexpr std::chrono::seconds k_restart_patience{60};

std::chrono::steady_clock::duration duration_of(double seconds) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

/// What a kernel printed can be anything, and it goes to terminals and databases.
std::string printable(std::string text) {
    for (char& c : text) {
        if ((c < ' ' || c > '~') && c != '\n' && c != '\t') c = '?';
    }
    return text;
}

std::string printed(const Message& value) {
    return value.dump(-1, ' ', true, Message::error_handler_t::replace);
}

}  // namespace

Worker::Worker(const std::vector<std::string>& command, const WorkerLimits& limits)
    : limits_(limits), process_(command) {
    at_ = "starting";
    Answer answer = receive(limits.start_seconds, {});
    if (const auto* failure = std::get_if<WorkerFailure>(&answer))
        throw Error(ErrorKind::unavailable, fmt::format("a worker does not start: {}", failure->reason));
    greeting_ = std::move(std::get<Message>(answer));
    const auto version = greeting_.find(messages::k_version);
    if (version == greeting_.end() || *version != messages::k_protocol) {
        throw Error(ErrorKind::unavailable,
                    fmt::format("a worker speaks version {} of the protocol, and this is {}",
                                version == greeting_.end() ? "none" : printed(*version), messages::k_protocol));
    }
    if (greeting_.contains(messages::k_error)) throw Error(ErrorKind::unavailable, error_of(greeting_));
    bytes_at_start_ = process_.resident_bytes();
}

Answer Worker::ask(const Message& request, double seconds,
                   const std::function<double(const std::string&)>& after_notice) {
    at_ = request.value(messages::k_do, "");
    process_.forget_complaints();
    const Clock::time_point deadline = Clock::now() + duration_of(seconds);
    if (!process_.write(framed(request), deadline)) {
        if (Clock::now() >= deadline)
            return fail(OutcomeKind::timeout, fmt::format("{} was not taken up within {:.3g} s", at_, seconds));
        return fail(OutcomeKind::crashed, "");
    }
    return receive(seconds, after_notice);
}

Answer Worker::receive(double seconds, const std::function<double(const std::string&)>& after_notice) {
    Deadline deadline{Clock::now() + duration_of(seconds), Clock::now() + duration_of(seconds), seconds};
    Clock::time_point watch = Clock::now() + k_watch;
    for (;;) {
        try {
            if (auto answer = take_answer(deadline, after_notice)) return std::move(*answer);
        } catch (const Error& error) {
            return fail(OutcomeKind::crashed, fmt::format("at {} it sent what is no message: {}", at_, error.what()));
        }
        const ChildProcess::Read read = process_.read(received_, std::min(deadline.next, watch));
        if (read == ChildProcess::Read::ended) return fail(OutcomeKind::crashed, "");
        const Clock::time_point now = Clock::now();
        if (now >= deadline.next && read == ChildProcess::Read::timed_out)
            return fail(OutcomeKind::timeout, fmt::format("{} took longer than {:.3g} s", at_, deadline.allowed));
        if (now >= deadline.whole)
            return fail(OutcomeKind::timeout, fmt::format("{} took longer than {:.3g} s", at_, seconds));
        if (now < watch) continue;
        watch = now + k_watch;
        // A program that it started can hold its output open.
        if (read == ChildProcess::Read::timed_out && process_.ended()) return fail(OutcomeKind::crashed, "");
        if (process_.resident_bytes() > limits_.memory_bytes)
            return fail(OutcomeKind::crashed,
                        fmt::format("at {} it took more than {} MiB of memory", at_, limits_.memory_bytes >> 20));
    }
}

std::optional<Message> Worker::take_answer(Deadline& deadline,
                                           const std::function<double(const std::string&)>& after_notice) {
    while (auto message = take_message(received_)) {
        if (!message->is_object()) throw Error(ErrorKind::device, "it has no members");
        const auto at = message->find(messages::k_at);
        if (at == message->end()) return message;
        if (!at->is_string()) throw Error(ErrorKind::device, "what it is at is no text");
        at_ = at->get<std::string>();
        if (!after_notice) continue;
        const double seconds = after_notice(at_);
        const Clock::time_point now = Clock::now();
        deadline.allowed = std::abs(seconds);
        if (seconds < 0) deadline.whole = now + duration_of(-seconds);
        deadline.next = std::min(deadline.whole, now + duration_of(deadline.allowed));
    }
    return std::nullopt;
}

bool Worker::has_grown() const {
    return process_.resident_bytes() - bytes_at_start_ > (limits_.memory_bytes - bytes_at_start_) / 2;
}

void Worker::take_size_as_normal() {
    bytes_at_start_ = process_.resident_bytes();
}

WorkerFailure Worker::fail(OutcomeKind kind, const std::string& sentence) {
    const ProcessEnd end = sentence.empty() ? process_.wait() : process_.kill();
    WorkerFailure failure{kind, sentence};
    if (sentence.empty()) {
        failure.reason = fmt::format("at {} its process {}", at_, describe(end));
        if (end.signal == SIGKILL && !end.killed) failure.reason += ": the machine may be out of memory";
    }
    if (const std::string complaints = printable(process_.complaints()); !complaints.empty())
        failure.reason += "\n" + complaints;
    return failure;
}

std::unique_ptr<Worker> restart_worker(const std::function<std::unique_ptr<Worker>()>& start) {
    const Worker::Clock::time_point patience = Worker::Clock::now() + k_restart_patience;
    for (auto pause = k_first_pause;; pause *= 4) {
        try {
            return start();
        } catch (const Error& error) {
            if (pause > k_longest_pause || Worker::Clock::now() > patience) {
                throw Error(ErrorKind::unavailable, fmt::format("no worker can be started any more: {}", error.what()));
            }
        }
        std::this_thread::sleep_for(pause);
    }
}

std::string error_of(const Message& answer) {
    const Message& error = answer.at(messages::k_error);
    return error.is_string() ? error.get<std::string>() : "an error without a sentence";
}

}  // namespace tconv
