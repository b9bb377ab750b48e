#include "tuner/workers/worker_evaluator.hpp"

#include <utility>

#include "core/error.hpp"
#include "tuner/workers/codec.hpp"
#include "tuner/workers/messages.hpp"

namespace tconv {
namespace {

// Making inputs and reference results, and the device's ceilings in the first place.
constexpr double k_prepare_seconds = 300;
// What ends a worker before it has a candidate is no candidate's doing, and often nothing that stays.
constexpr int k_starts = 3;

const Message& done(const Message& answer) {
    if (answer.contains(messages::k_error))
        throw Error(ErrorKind::device, answer.at(messages::k_error).get<std::string>());
    return answer.at(messages::k_done);
}

Measurement failed(const WorkerFailure& failure) {
    Measurement measurement;
    measurement.outcome.kind = failure.kind;
    measurement.outcome.reason = failure.reason;
    return measurement;
}

}  // namespace

WorkerEvaluator::WorkerEvaluator(WorkerCommands commands, const WorkerLimits& limits)
    : commands_(std::move(commands)),
      limits_(limits),
      worker_(std::make_unique<Worker>(commands_.evaluate, limits)),
      device_(device_info_from(worker_->greeting().at(messages::k_device))),
      compiler_(commands_.compile, limits),
      builder_(compiler_, device_) {}

Worker& WorkerEvaluator::worker() {
    for (int start = 1; !worker_; ++start) {
        try {
            worker_ = std::make_unique<Worker>(commands_.evaluate, limits_);
            if (preparing_) (void)prepare_worker();
        } catch (const Error&) {
            worker_.reset();
            if (start == k_starts) throw;
        }
    }
    return *worker_;
}

Preparation WorkerEvaluator::prepare_worker() {
    const Answer answer = worker_->ask(*preparing_, k_prepare_seconds);
    if (const auto* failure = std::get_if<WorkerFailure>(&answer)) {
        worker_.reset();
        throw Error(ErrorKind::device, "the device's worker fails before any candidate: " + failure->reason);
    }
    return preparation_from(done(std::get<Message>(answer)));
}

Preparation WorkerEvaluator::prepare(const Problem& problem, std::uint64_t seed) {
    preparing_.reset();
    (void)worker();
    preparing_ = Message{{messages::k_do, messages::k_prepare}, {"problem", key(problem)}, {"seed", seed}};
    return prepare_worker();
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
        worker_.reset();
        return failed(*failure);
    }
    Measurement measurement = measurement_from(done(std::get<Message>(answer)));
    // A device error that stays ends with the process that has it.
    if (std::exchange(measurement.device_lost, false)) worker_.reset();
    return measurement;
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
    if (std::holds_alternative<WorkerFailure>(answer)) {
        worker_.reset();
        return {};
    }
    std::vector<Timing> timings;
    for (const Message& timing : done(std::get<Message>(answer)))
        timings.push_back(timing_from(timing));
    return timings;
}

}  // namespace tconv
