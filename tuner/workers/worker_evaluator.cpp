#include "tuner/workers/worker_evaluator.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/error.hpp"
#include "tuner/workers/codec.hpp"
#include "tuner/workers/messages.hpp"

namespace tconv {
namespace {

// Making inputs and reference results, and the device's ceilings in the first place.
constexpr double k_prepare_seconds = 300;

Measurement failed(OutcomeKind kind, const std::string& reason) {
    Measurement measurement;
    measurement.outcome.kind = kind;
    measurement.outcome.reason = reason;
    return measurement;
}

DeviceInfo device_of(const Worker& worker) {
    const auto device = worker.greeting().find(messages::k_device);
    if (device == worker.greeting().end())
        throw Error(ErrorKind::unavailable, "a worker that should run candidates has no device");
    return device_info_from(*device);
}

}  // namespace

WorkerEvaluator::WorkerEvaluator(WorkerCommands commands, const WorkerLimits& limits)
    : commands_(std::move(commands)),
      limits_(limits),
      worker_(std::make_unique<Worker>(commands_.evaluate, limits)),
      device_(device_of(*worker_)),
      compiler_(commands_.compile, limits),
      builder_(compiler_, device_) {}

const Message& WorkerEvaluator::done(const Message& answer) {
    if (answer.contains(messages::k_error)) throw Error(ErrorKind::device, error_of(answer));
    const auto result = answer.find(messages::k_done);
    if (result == answer.end()) throw Error(ErrorKind::device, "a worker's answer holds nothing");
    worker_seconds_ = device_seconds_from(answer);
    return *result;
}

void WorkerEvaluator::lose_worker() {
    worker_.reset();
    earlier_seconds_ += std::exchange(worker_seconds_, 0);
}

Worker& WorkerEvaluator::worker() {
    if (!worker_) worker_ = restart_worker([this] { return prepared_worker(); });
    return *worker_;
}

std::unique_ptr<Worker> WorkerEvaluator::prepared_worker() {
    auto worker = std::make_unique<Worker>(commands_.evaluate, limits_);
    // After a failure a system can show its devices in another order.
    if (const std::string now = device_key(device_of(*worker)); now != device_key(device_)) {
        throw Error(ErrorKind::unavailable,
                    fmt::format("the device was {} and a new worker finds {}", device_key(device_), now));
    }
    if (preparing_) (void)prepare_worker(*worker, *preparing_);
    return worker;
}

Preparation WorkerEvaluator::prepare_worker(Worker& worker, const Message& request) {
    const Answer answer = worker.ask(request, k_prepare_seconds);
    if (const auto* failure = std::get_if<WorkerFailure>(&answer))
        throw Error(ErrorKind::device, "the device's worker fails before any candidate: " + failure->reason);
    Preparation preparation = preparation_from(done(std::get<Message>(answer)));
    worker.take_size_as_normal();
    return preparation;
}

Preparation WorkerEvaluator::prepare(const Problem& problem, std::uint64_t seed) {
    preparing_.reset();
    const Message request{{messages::k_do, messages::k_prepare}, {"problem", key(problem)}, {"seed", seed}};
    try {
        const Preparation preparation = prepare_worker(worker(), request);
        preparing_ = request;
        return preparation;
    } catch (const Error&) {
        lose_worker();
        throw;
    }
}

Measurement WorkerEvaluator::measure(const Compiled& candidate) {
    const auto after_notice = [this](const std::string& at) {
        if (at == messages::k_at_run) return limits_.run_seconds;
        // Timing is a new whole: some dozen runs of what has been validated.
        return at == messages::k_at_timing ? -limits_.validation_seconds : limits_.validation_seconds;
    };
    const Answer answer =
        worker().ask({{messages::k_do, messages::k_measure}, {messages::k_what, to_message(candidate)}},
                     limits_.validation_seconds, after_notice);
    if (const auto* failure = std::get_if<WorkerFailure>(&answer)) {
        lose_worker();
        return failed(failure->kind, failure->reason);
    }
    try {
        Measurement measurement = measurement_from(done(std::get<Message>(answer)));
        // A device error that stays ends with the process that has it; so does memory that was never given back.
        if (std::exchange(measurement.device_lost, false) || worker_->has_grown()) lose_worker();
        return measurement;
    } catch (const Error& error) {
        lose_worker();  // a process that answers so is not trusted with the next candidate
        return failed(OutcomeKind::crashed, error.what());
    }
}

std::vector<Timing> WorkerEvaluator::time_in_turn(const std::vector<Compiled>& candidates, int rounds, double seconds) {
    Message what = Message::array();
    for (const Compiled& candidate : candidates)
        what.push_back(to_message(candidate));
    const Answer answer = worker().ask({{messages::k_do, messages::k_time},
                                        {messages::k_what, std::move(what)},
                                        {"rounds", rounds},
                                        {"seconds", seconds}},
                                       limits_.validation_seconds + seconds);
    try {
        if (std::holds_alternative<WorkerFailure>(answer)) throw Error(ErrorKind::device, "");
        std::vector<Timing> timings;
        for (const Message& timing : done(std::get<Message>(answer)))
            timings.push_back(timing_from(timing));
        return timings;
    } catch (const Error&) {
        lose_worker();
        return {};
    }
}

}  // namespace tconv
