#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/evaluator.hpp"
#include "tuner/workers/worker.hpp"
#include "tuner/workers/worker_compiler.hpp"

namespace tconv {

/// How workers are started: each command is a program and its arguments.
struct WorkerCommands {
    std::vector<std::string> evaluate;
    std::vector<std::string> compile;
};

/// Runs candidates in a process of its own. Whatever ends that process (a crash, a device error that stays, a limit) is
/// the outcome of the candidate at hand; a new process carries on, prepared alike.
class WorkerEvaluator final : public Evaluator {
public:
    /// Throws Error(unavailable) when the workers do not start.
    WorkerEvaluator(WorkerCommands commands, const WorkerLimits& limits);

    /// The process that runs candidates now; -1 where there is none between two of them.
    [[nodiscard]] pid_t process_id() const { return worker_ ? worker_->id() : -1; }

    [[nodiscard]] const DeviceInfo& device() const override { return device_; }
    [[nodiscard]] Builder& builder() override { return builder_; }

    [[nodiscard]] Preparation prepare(const Problem& problem, std::uint64_t seed) override;
    [[nodiscard]] Measurement measure(const Compiled& candidate) override;
    [[nodiscard]] std::vector<Timing> time_in_turn(const std::vector<Compiled>& candidates, int rounds,
                                                   double seconds) override;
    [[nodiscard]] double device_seconds() const override { return earlier_seconds_ + worker_seconds_; }

private:
    /// The worker, started anew and prepared where the last one is gone. Throws Error(unavailable).
    [[nodiscard]] Worker& worker();
    [[nodiscard]] std::unique_ptr<Worker> prepared_worker();
    [[nodiscard]] Preparation prepare_worker(Worker& worker, const Message& request);
    /// What an answer holds. Throws Error(device) where it is an error, or holds nothing.
    [[nodiscard]] const Message& done(const Message& answer);
    void lose_worker();

    WorkerCommands commands_;
    WorkerLimits limits_;
    std::unique_ptr<Worker> worker_;
    DeviceInfo device_;
    WorkerCompiler compiler_;
    Builder builder_;
    double earlier_seconds_ = 0;        // of the device, for workers that are gone
    double worker_seconds_ = 0;         // and for this one
    std::optional<Message> preparing_;  // the request that the present problem began with
};

}  // namespace tconv
