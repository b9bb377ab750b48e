#include "tuner/workers/worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "tuner/workers/messages.hpp"

namespace tconv {
namespace {

constexpr std::chrono::milliseconds k_memory_watch{200};

std::chrono::steady_clock::duration duration_of(double seconds) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Worker::Worker(const std::vector<std::string>& command, const WorkerLimits& limits)
    : limits_(limits), process_(command) {
    at_ = "starting";
    Answer answer = receive(limits.start_seconds, {});
    if (const auto* failure = std::get_if<WorkerFailure>(&answer))
        throw Error(ErrorKind::unavailable, fmt::format("a worker does not start: {}", failure->reason));
    greeting_ = std::move(std::get<Message>(answer));
    if (greeting_.value(messages::k_version, 0) != messages::k_protocol) {
        throw Error(ErrorKind::unavailable, fmt::format("a worker speaks version {} of the protocol, and this is {}",
                                                        greeting_.value(messages::k_version, 0), messages::k_protocol));
    }
    if (const std::string sentence = greeting_.value(messages::k_error, ""); !sentence.empty())
        throw Error(ErrorKind::unavailable, sentence);
}

Answer Worker::ask(const Message& request, double seconds,
                   const std::function<double(const std::string&)>& after_notice) {
    at_ = request.value(messages::k_do, "");
    process_.forget_complaints();
    if (!process_.write(framed(request), Clock::now() + duration_of(seconds)))
        return fail(OutcomeKind::crashed, "it takes no requests any more");
    return receive(seconds, after_notice);
}

Answer Worker::receive(double seconds, const std::function<double(const std::string&)>& after_notice) {
    Clock::time_point whole = Clock::now() + duration_of(seconds);
    Clock::time_point deadline = whole;
    double allowed = seconds;
    for (;;) {
        while (auto message = take_message(received_)) {
            if (!message->contains(messages::k_at)) return std::move(*message);
            at_ = message->value(messages::k_at, "");
            if (!after_notice) continue;
            allowed = after_notice(at_);
            if (allowed < 0) whole = Clock::now() + duration_of(allowed = -allowed);
            deadline = std::min(whole, Clock::now() + duration_of(allowed));
        }
        const Clock::time_point next = std::min(deadline, Clock::now() + k_memory_watch);
        switch (process_.read(received_, next)) {
            case ChildProcess::Read::some:
                break;
            case ChildProcess::Read::ended:
                return fail(OutcomeKind::crashed, "");
            case ChildProcess::Read::timed_out:
                if (Clock::now() >= deadline)
                    return fail(OutcomeKind::timeout, fmt::format("{} took longer than {:.3g} s", at_, allowed));
                break;
        }
        if (const std::int64_t bytes = process_.resident_bytes(); bytes > limits_.memory_bytes)
            return fail(OutcomeKind::crashed,
                        fmt::format("at {} it took more than {} MiB of memory", at_, limits_.memory_bytes >> 20));
    }
}

WorkerFailure Worker::fail(OutcomeKind kind, const std::string& sentence) {
    const ProcessEnd end = sentence.empty() ? process_.wait() : process_.kill();
    WorkerFailure failure{kind, sentence};
    if (sentence.empty()) failure.reason = fmt::format("at {} its process {}", at_, describe(end));
    if (!process_.complaints().empty()) failure.reason += "\n" + process_.complaints();
    return failure;
}

}  // namespace tconv
