#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/outcome.hpp"
#include "core/problem.hpp"
#include "device/device.hpp"
#include "device/launch.hpp"
#include "tuner/guarded_buffer.hpp"
#include "tuner/runnable.hpp"
#include "tuner/support_kernels.hpp"
#include "tuner/test_tensors.hpp"

namespace tconv {

/// Inputs and float64 reference results of one problem, made once a session, and the check of candidates against them.
/// Nothing is trusted. Five launches, the cheapest verdict first:
///
/// 1. normal inputs; every element compared with the reference;
/// 2. the same inputs with one batch entry more, on tensors aligned to what the plan asks for and no more; bit for bit
///    what the first launch gave, so that this one launch also shows a kernel that differs from run to run. The entry
///    more has the inputs of the first one and is compared with its reference;
/// 3. small integers, where every output must be the reference rounded once;
/// 4. magnitudes over many octaves whose sums cancel;
/// 5. uniform inputs.
///
/// A kernel that can keep packed weights is launched three times more behind the second one: they are packed once, and
/// two calls with them must repeat the first bit for bit and leave them as they are.
///
/// Before each, output, workspace and packed weights are filled with NaN; after each, the guard zones round every
/// buffer and the inputs themselves must be untouched. Only where the second launch differs are there more, to tell
/// why. Whatever a candidate damages is restored before the next one.
class Validator {
public:
    /// Makes the inputs; the references follow with the first validation of their distribution.
    Validator(Device& device, SupportKernels& support, const Problem& problem, std::uint64_t seed);
    Validator(const Validator&) = delete;
    Validator& operator=(const Validator&) = delete;
    ~Validator();

    /// Sets `outcome.kind`, `.reason` and `.error`. What has an error above `tolerance` is wrong. With
    /// `slow_milliseconds` above 0, what takes longer in its first run, and is right, is too_slow and costs no further
    /// run; `outcome.timing` then holds that one sample.
    void validate(const Runnable& runnable, double tolerance, Outcome& outcome, double slow_milliseconds = 0);

    /// Tensors for timing: the first distribution's inputs, the output, a workspace and packed weights of these sizes.
    /// They hold until the next call of this object.
    [[nodiscard]] CallTensors timing_tensors(std::int64_t workspace_bytes, std::int64_t packed_weight_bytes = 0);

    [[nodiscard]] const Problem& problem() const { return problem_; }

private:
    struct DataSet;
    struct Twin;

    /// One launch: on what, and how it differs from an ordinary one, in words ("" or " (batch 3)").
    struct Run {
        const std::function<void(const CallTensors&)>& launch;
        TestTensors& tensors;
        GuardedBuffer& output;
        GuardedBuffer& workspace;
        GuardedBuffer& packed_weight;
        std::string circumstances;
        bool keeps_packed = false;  ///< the packed weights are filled already
    };
    /// Some elements of an output, from the first of a batch entry on, and those of the reference that they must equal.
    struct Part {
        DevicePointer output;
        std::int64_t first_entry;
        std::int64_t count;
    };

    void make_tensors(DataSet& set);
    void make_reference(DataSet& set);
    [[nodiscard]] DataSet& prepared(std::size_t index);
    void ensure_workspace(std::int64_t bytes, std::int64_t packed_weight_bytes);
    [[nodiscard]] Run ordinary_run(const Runnable& runnable, DataSet& set, GuardedBuffer& output);
    [[nodiscard]] Run twin_run(const Runnable& runnable, std::int64_t alignment);

    [[nodiscard]] std::optional<double> run_once(const Run& run, Outcome& outcome);
    [[nodiscard]] bool check_memory(const Run& run, Outcome& outcome);
    [[nodiscard]] std::optional<double> run_checked(const Run& run, Outcome& outcome);
    [[nodiscard]] bool check_values(const Part& part, const DataSet& set, const Runnable& runnable, double tolerance,
                                    const std::string& circumstances, Outcome& outcome);
    [[nodiscard]] bool check_first(const Runnable& runnable, double tolerance, Outcome& outcome,
                                   double slow_milliseconds);
    [[nodiscard]] bool check_twin(const Runnable& runnable, double tolerance, Outcome& outcome);
    [[nodiscard]] bool check_packed(const Runnable& runnable, Outcome& outcome);
    [[nodiscard]] bool check_distribution(std::size_t index, const Runnable& runnable, double tolerance,
                                          Outcome& outcome);
    void explain_difference(const Runnable& runnable, Outcome& outcome);
    void forget_damage(const Run& run) noexcept;
    [[nodiscard]] std::uint64_t differences(const GuardedBuffer& output) const;
    [[nodiscard]] std::int64_t common_elements(const GuardedBuffer& output) const;
    [[nodiscard]] std::string output_position(std::int64_t index) const;

    Device& device_;
    SupportKernels& support_;
    Problem problem_;
    std::uint64_t seed_;
    std::vector<std::unique_ptr<DataSet>> sets_;
    std::size_t kept_;  ///< that many distributions stay on the device; the others come and go
    std::unique_ptr<GuardedBuffer> output_;
    std::unique_ptr<GuardedBuffer> workspace_;
    std::unique_ptr<GuardedBuffer> packed_weight_;
    std::unique_ptr<Twin> twin_;
};

}  // namespace tconv
