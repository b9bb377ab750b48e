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

namespace tconv {

/// Inputs and float64 reference results of one problem, made once a session, and the check of candidates against them.
/// Nothing is trusted: the output is poisoned, guard zones surround every buffer, every element is compared, two runs
/// are compared bit for bit.
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

    /// Tensors for timing: the first distribution's inputs, the output, a workspace of this size. They hold until the
    /// next call of this object.
    [[nodiscard]] CallTensors timing_tensors(std::int64_t workspace_bytes);

    [[nodiscard]] const Problem& problem() const { return problem_; }

private:
    struct DataSet;

    void make_inputs(DataSet& set);
    void make_reference(DataSet& set);
    [[nodiscard]] DataSet& prepared(std::size_t index);
    [[nodiscard]] CallTensors tensors_of(const DataSet& set, const GuardedBuffer& output) const;
    void ensure_workspace(std::int64_t bytes);
    [[nodiscard]] std::optional<double> run_once(const Runnable& runnable, DataSet& set, GuardedBuffer& output,
                                                 Outcome& outcome);
    [[nodiscard]] bool check_guards(DataSet& set, GuardedBuffer& output, Outcome& outcome);
    [[nodiscard]] bool check_values(const DataSet& set, double tolerance, Outcome& outcome);
    [[nodiscard]] bool check_repeat(const Runnable& runnable, DataSet& set, Outcome& outcome);
    [[nodiscard]] std::string output_position(std::int64_t index) const;

    Device& device_;
    SupportKernels& support_;
    Problem problem_;
    std::uint64_t seed_;
    std::vector<std::unique_ptr<DataSet>> sets_;
    bool keep_all_;  ///< every distribution stays on the device; else one at a time
    std::unique_ptr<GuardedBuffer> output_;
    std::unique_ptr<GuardedBuffer> second_output_;
    std::unique_ptr<GuardedBuffer> workspace_;
};

}  // namespace tconv
