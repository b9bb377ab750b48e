#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "core/hash.hpp"
#include "tests/tuner/spaces_for_tests.hpp"
#include "tuner/evaluator.hpp"

namespace tconv::testing {

/// Code made of the source.
class PretendedGpuCompiler final : public Compiler {
public:
    [[nodiscard]] std::string version() const override { return "pretended 1"; }
    [[nodiscard]] CompileResult compile(const CompileRequest& request) override {
        ++calls;
        CompileResult result;
        result.ok = true;
        result.code.code = "code of " + content_hash(request.source);
        return result;
    }
    std::atomic<std::int64_t> calls = 0;
};

/// A GPU whose kernels of `accuracy_space` have errors and times worked out from their configs.
class PretendedGpu final : public Evaluator {
public:
    [[nodiscard]] const DeviceInfo& device() const override { return device_; }
    [[nodiscard]] Builder& builder() override { return builder_; }
    [[nodiscard]] Preparation prepare(const Problem&, std::uint64_t) override { return {{1e12, 1e13, 1e-6, 0, 0}, 50}; }

    [[nodiscard]] Measurement measure(const Compiled& compiled) override {
        if (before_measuring) before_measuring();
        const Candidate& candidate = compiled.candidate;
        measured.push_back(candidate.config);
        Measurement result;
        Outcome& outcome = result.outcome;
        outcome.error.relative = error_of(candidate.config);
        if (outcome.error.relative > candidate.tolerance) {
            outcome.kind = OutcomeKind::wrong_result;
            return result;
        }
        const double time = time_of(candidate.config);
        outcome.timing = timing(time, candidate.best_milliseconds > 0 && time > 1.4 * candidate.best_milliseconds);
        return result;
    }

    /// Each a little different from when it was alone, so that the order changes.
    [[nodiscard]] std::vector<Timing> time_in_turn(const std::vector<Compiled>& candidates, int, double) override {
        std::vector<Timing> timings;
        for (const Compiled& one : candidates)
            timings.push_back(
                timing(time_of(one.candidate.config) * (0.97 + 0.06 * chance(one.candidate.config, "t")), false));
        return timings;
    }

    [[nodiscard]] double device_seconds() const override { return 0.001 * static_cast<double>(measured.size()); }

    /// How often its compiler was asked.
    [[nodiscard]] std::int64_t compiled() const { return compiler_.calls; }

    /// The four arithmetics of accuracy_space; every kernel has an error of its own below the expected one.
    [[nodiscard]] static double error_of(const Config& config) {
        constexpr double errors[] = {1e-6, 1e-3, 2e-6, 2.5e-5};
        return errors[config.at("math")] * (0.3 + 0.6 * chance(config, "error"));
    }
    [[nodiscard]] static double time_of(const Config& config) {
        constexpr double times[] = {10, 1, 3, 2};
        return times[config.at("math")] * (1 + chance(config, "time"));
    }

    std::vector<Config> measured;
    std::function<void()> before_measuring;

private:
    /// In [0, 1), always the same.
    [[nodiscard]] static double chance(const Config& config, const std::string& what) {
        return static_cast<double>(std::stoul(content_hash(to_string(config) + what).substr(0, 6), nullptr, 16)) /
               0x1000000;
    }
    [[nodiscard]] static Timing timing(double milliseconds, bool dropped) {
        Timing result;
        result.samples = {milliseconds};
        result.median = result.minimum = milliseconds;
        result.spread = 0.001;
        result.dropped_early = dropped;
        return result;
    }
    static DeviceInfo made_device() {
        DeviceInfo device = test_device();
        device.shared_memory_per_multiprocessor = 233472;
        device.driver_version = "13.0";
        return device;
    }

    DeviceInfo device_ = made_device();
    PretendedGpuCompiler compiler_;
    Builder builder_{compiler_, device_};
};

}  // namespace tconv::testing
