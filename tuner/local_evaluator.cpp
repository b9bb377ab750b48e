#include "tuner/local_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "core/error.hpp"
#include "kernel_sources/reference.hpp"
#include "tuner/evaluate.hpp"
#include "tuner/workers/messages.hpp"

namespace tconv {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int k_retakes = 2;
constexpr std::chrono::milliseconds k_recovery{250};  // a card that was slowed down takes so long to speed up
constexpr double k_cold_milliseconds = 1;             // a first launch may also bring the code to the device

void fail(Outcome& outcome, OutcomeKind kind, const std::string& reason) {
    outcome.kind = kind;
    outcome.reason = reason;
}

/// Adds the seconds of its life to a sum.
class Stopwatch {
public:
    explicit Stopwatch(double& sum) : sum_(sum) {}
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;
    ~Stopwatch() { sum_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

private:
    double& sum_;
    Clock::time_point start_ = Clock::now();
};

/// Registers, spills and occupancy of the last launch of the plan, which does the work.
KernelResources resources_of(Device& device, Module& module, const LaunchPlan& plan) {
    const Launch& launch = plan.launches.back();
    return device.resources(module, launch.kernel, {launch.grid, launch.block, launch.shared_bytes});
}

}  // namespace

LocalEvaluator::LocalEvaluator(Laboratory& laboratory, std::function<void(const char*)> notice)
    : laboratory_(laboratory), notice_(std::move(notice)) {}

LocalEvaluator::~LocalEvaluator() = default;

const DeviceInfo& LocalEvaluator::device() const {
    return laboratory_.device().info();
}

Builder& LocalEvaluator::builder() {
    return laboratory_.builder();
}

void LocalEvaluator::notice(const char* at) const {
    if (notice_) notice_(at);
}

Preparation LocalEvaluator::prepare(const Problem& problem, std::uint64_t seed) {
    Preparation preparation;
    preparation.ceilings = laboratory_.ceilings();
    (void)laboratory_.disturbance();
    validator_.reset();  // its memory first
    validator_ = std::make_unique<Validator>(laboratory_.device(), laboratory_.support(), problem, seed);
    const LaunchPlan plan = reference_plan(problem);
    const Runnable reference =
        runnable_plan(laboratory_.device(), laboratory_.support().reference_module(), plan, problem.batch);
    const CallTensors tensors = validator_->timing_tensors(reference.workspace_bytes);
    // One sample: it is far slower than any candidate, and only a scale for people.
    preparation.reference_milliseconds = laboratory_.device().time(1, {}, [&] { reference.launch(tensors); }).front();
    return preparation;
}

Measurement LocalEvaluator::measure(const Compiled& candidate) {
    Measurement measurement;
    try {
        load_validate_time(candidate, measurement);
    } catch (const OutOfDeviceMemory& error) {
        fail(measurement.outcome, OutcomeKind::resource_error, error.what());
    } catch (const std::exception& error) {
        fail(measurement.outcome, OutcomeKind::launch_error, error.what());
    }
    if (measurement.outcome.kind != OutcomeKind::launch_error) return measurement;
    try {
        laboratory_.device().synchronize();
    } catch (const Error&) {
        measurement.device_lost = true;
    }
    return measurement;
}

Validator& LocalEvaluator::validator() const {
    if (!validator_) throw Error(ErrorKind::device, "no problem has been prepared");
    return *validator_;
}

void LocalEvaluator::load_validate_time(const Compiled& compiled, Measurement& measurement) {
    const Candidate& candidate = compiled.candidate;
    Device& device = laboratory_.device();
    Outcome& outcome = measurement.outcome;
    std::unique_ptr<Module> module;
    try {
        const Stopwatch watch(measurement.seconds.loading);
        module = device.load(compiled.code);
        outcome.resources = resources_of(device, *module, candidate.plan);
    } catch (const Error& error) {
        fail(outcome, OutcomeKind::resource_error, error.what());
        return;
    }
    if (device.info().kind == DeviceKind::cuda && outcome.resources.blocks_per_multiprocessor == 0) {
        fail(outcome, OutcomeKind::resource_error,
             fmt::format("no block fits on a multiprocessor: {} registers a thread, {} bytes of shared memory",
                         outcome.resources.registers, candidate.plan.launches.back().shared_bytes));
        return;
    }
    validate_and_time(candidate, *module, measurement);
    const Stopwatch watch(measurement.seconds.loading);
    module.reset();
}

template <class Take>
auto LocalEvaluator::undisturbed(const Take& take, std::string& remark) {
    std::string disturbance;
    for (int tries = 0;; ++tries) {
        auto taken = take();
        disturbance = laboratory_.disturbance();
        if (disturbance.empty() || tries == k_retakes) {
            remark = disturbance.empty() ? "" : fmt::format("timed while {}", disturbance);
            return taken;
        }
        std::this_thread::sleep_for(k_recovery);
    }
}

void LocalEvaluator::validate_and_time(const Candidate& candidate, Module& module, Measurement& measurement) {
    Runnable runnable = runnable_plan(laboratory_.device(), module, candidate.plan, candidate.problem.batch);
    const auto announced = [this](const auto& launch) {
        return [this, launch](const CallTensors& tensors) {
            notice(messages::k_at_run);
            launch(tensors);
        };
    };
    const Runnable plain = runnable;
    const auto announce = [&](std::function<void(const CallTensors&)>& launch) {
        if (launch) launch = announced(launch);
    };
    announce(runnable.launch);
    announce(runnable.pack);
    announce(runnable.launch_packed);
    if (runnable.other_batch) {
        announce(runnable.other_batch->launch);
        announce(runnable.other_batch->launch_packed);
    }

    const double best = candidate.best_milliseconds;
    const double hopeless = best > 0 ? std::max(best * k_hopeless_factor, best + k_cold_milliseconds) : 0;
    {
        const Stopwatch watch(measurement.seconds.validating);
        validator().validate(runnable, candidate.tolerance, measurement.outcome, hopeless);
    }
    if (measurement.outcome.kind != OutcomeKind::valid) return;
    notice(messages::k_at_timing);
    const Stopwatch watch(measurement.seconds.timing);
    time(candidate, plain, measurement.outcome);
}

void LocalEvaluator::time(const Candidate& candidate, const Runnable& runnable, Outcome& outcome) {
    const double best = candidate.best_milliseconds;
    const CallTensors tensors = validator().timing_tensors(runnable.workspace_bytes, runnable.packed_weight_bytes);
    Timer& timer = laboratory_.timer();
    const auto work = [&] { runnable.launch(tensors); };
    outcome.timing = timer.time(work, best);
    // Asking the driver takes milliseconds: only for a new best time. The others near it decide nothing before they are
    // timed again, in turn, which is watched as well.
    if (best > 0 && outcome.timing.median > best) return;
    if (laboratory_.disturbance().empty()) return;
    std::string remark;
    outcome.timing = undisturbed([&] { return timer.time(work, 0); }, remark);
    outcome.timing.remark = remark;
}

double LocalEvaluator::device_seconds() const {
    return laboratory_.device().seconds_at_work();
}

std::vector<Timing> LocalEvaluator::time_in_turn(const std::vector<Compiled>& candidates, int rounds, double seconds) {
    try {
        return time_all(candidates, rounds, seconds);
    } catch (const Error&) {
        return {};
    }
}

std::vector<Timing> LocalEvaluator::time_all(const std::vector<Compiled>& candidates, int rounds, double seconds) {
    struct Loaded {
        std::unique_ptr<Module> module;
        Runnable runnable;
    };
    std::deque<Loaded> loaded;  // runnables refer to their modules
    std::int64_t workspace_bytes = 0;
    std::int64_t packed_weight_bytes = 0;
    for (const Compiled& compiled : candidates) {
        Loaded& one = loaded.emplace_back();
        one.module = laboratory_.device().load(compiled.code);
        one.runnable =
            runnable_plan(laboratory_.device(), *one.module, compiled.candidate.plan, compiled.candidate.problem.batch);
        workspace_bytes = std::max(workspace_bytes, one.runnable.workspace_bytes);
        packed_weight_bytes = std::max(packed_weight_bytes, one.runnable.packed_weight_bytes);
    }
    const CallTensors tensors = validator().timing_tensors(workspace_bytes, packed_weight_bytes);
    std::vector<std::function<void()>> works;
    for (const Loaded& one : loaded)
        works.emplace_back([&one, &tensors] { one.runnable.launch(tensors); });
    (void)laboratory_.disturbance();
    std::string remark;
    std::vector<Timing> timings =
        undisturbed([&] { return laboratory_.timer().interleave_until_apart(works, rounds, seconds); }, remark);
    for (Timing& timing : timings)
        timing.remark = remark;
    return timings;
}

}  // namespace tconv
