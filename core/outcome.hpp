#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launch_plan.hpp"

namespace tconv {

/// How the evaluation of one candidate ended.
enum class OutcomeKind {
    valid,             ///< right and timed
    compile_error,     ///< the compiler refused it
    resource_error,    ///< needs more threads, registers or shared memory than the device has
    launch_error,      ///< the driver or the emulator reported a failure (illegal access, deadlocked barrier)
    wrong_result,      ///< some element is off by more than the tolerance
    not_finite,        ///< NaN or infinity in the output: unwritten elements, or a read outside a tensor
    out_of_bounds,     ///< a guard zone or an input was written
    nondeterministic,  ///< two runs on the same input differ
    timeout,           ///< took longer than its limit
    crashed,           ///< ended its worker process
    too_slow,          ///< right on the first inputs and far slower than the best: not looked at further
};

[[nodiscard]] std::string_view to_string(OutcomeKind kind);
/// The reverse of to_string; throws Error(bad_input).
[[nodiscard]] OutcomeKind parse_outcome_kind(std::string_view text);

/// Deviation from the float64 reference, over every element and every input distribution:
/// max |out - ref| / (|ref| + S) with S = sqrt(sum x^2 w^2 + bias^2). The type's smallest normal number is added below
/// the line: what an f16 output below 6.1e-5 loses by its rounding is no error of a kernel.
struct ErrorMeasure {
    double relative = 0;            ///< the measure above
    double absolute = 0;            ///< max |out - ref|
    std::int64_t worst_index = -1;  ///< flat index of the element with the largest relative error
    std::string distribution;       ///< input distribution that showed it
    /// Largest difference of two runs on the same inputs, by the same measure; 0 where they are the same bit for bit.
    double repeat_spread = 0;
};

/// Timings of one trial in milliseconds. `samples` are kept raw, in the order taken.
struct Timing {
    std::vector<double> samples;
    double median = 0;
    double minimum = 0;
    double spread = 0;           ///< half the interquartile range divided by the median
    bool dropped_early = false;  ///< far slower than the best: one sample was enough
    /// Milliseconds by which it ranks where that is not the median: just behind the one that won a tie; 0: the median.
    double rank = 0;
    std::string remark;  ///< what disturbed the device all the while, one clause: "timed while ..."; else empty
};

[[nodiscard]] double ranking_milliseconds(const Timing& timing);

/// Whether `a` ranks before `b`: the lower ranking time wins, but a timing dropped after one sample comes after every
/// proper one.
[[nodiscard]] bool ranks_before(const Timing& a, const Timing& b);

/// What the compiled kernel uses, as the driver reports it; zeros on the emulator.
struct KernelResources {
    int registers = 0;  ///< a thread
    std::int64_t static_shared_bytes = 0;
    std::int64_t local_bytes = 0;  ///< a thread: spills and local arrays
    int blocks_per_multiprocessor = 0;
};

/// Result of evaluating one candidate: plain data, so that it can cross a process boundary.
struct Outcome {
    OutcomeKind kind = OutcomeKind::valid;
    std::string reason;  ///< one sentence, empty when valid
    ErrorMeasure error;
    Timing timing;
    KernelResources resources;
    double compile_milliseconds = 0;
    LaunchPlan plan;
    std::string binary_key;  ///< content key of the compiled code, empty when there is none
};

}  // namespace tconv
