#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/outcome.hpp"
#include "core/problem.hpp"
#include "device/device.hpp"
#include "device/launch.hpp"
#include "tuner/guarded_buffer.hpp"
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

    /// Sets `outcome.kind`, `.reason` and `.error`. A candidate whose error is above `tolerance` is wrong.
    void validate(Module& module, const LaunchPlan& plan, double tolerance, Outcome& outcome);

    /// Tensors for timing `plan`: the first distribution's inputs, the output, a workspace of the plan's size.
    [[nodiscard]] CallTensors timing_tensors(const LaunchPlan& plan);

    [[nodiscard]] const Problem& problem() const { return problem_; }

private:
    struct DataSet;

    void make_inputs(DataSet& set);
    void make_reference(DataSet& set);
    [[nodiscard]] DataSet& prepared(std::size_t index);
    [[nodiscard]] CallTensors tensors_of(const DataSet& set, const GuardedBuffer& output) const;
    void ensure_workspace(const LaunchPlan& plan);
    [[nodiscard]] bool run_once(Module& module, const LaunchPlan& plan, DataSet& set, GuardedBuffer& output,
                                Outcome& outcome);
    [[nodiscard]] bool check_guards(DataSet& set, GuardedBuffer& output, Outcome& outcome);
    [[nodiscard]] bool check_values(const DataSet& set, double tolerance, Outcome& outcome);
    [[nodiscard]] bool check_repeat(Module& module, const LaunchPlan& plan, DataSet& set, Outcome& outcome);
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
