#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "device/launch.hpp"

namespace tconv {

/// A way to compute one problem, ready to be validated and timed: a candidate's launch plan, or another library's.
struct Runnable {
    /// The same way with another batch.
    struct OtherBatch {
        std::int64_t batch = 0;
        std::int64_t workspace_bytes = 0;
        std::function<void(const CallTensors&)> launch;
        std::function<void(const CallTensors&)> launch_packed;  ///< see Runnable
    };

    std::string description;               ///< for people: "direct", "engine 38 in nhwc"
    std::int64_t workspace_bytes = 0;      ///< what `CallTensors::workspace` must hold
    std::int64_t packed_weight_bytes = 0;  ///< what `CallTensors::packed_weight` must hold
    /// Two runs on the same tensors give the same bits. Where not, how far they differ is recorded.
    bool deterministic = true;
    /// Sums of small integers are exact, and rounded once. Not so for what transforms its inputs or rounds between its
    /// steps, as other libraries may.
    bool exact_on_integers = true;
    /// Bytes that the tensors' addresses are multiples of, and those of the workspace and the packed weights.
    std::int64_t alignment = k_most_alignment;
    std::int64_t workspace_alignment = k_most_alignment;
    /// Enqueues one call on the stream of the tensors. Throws Error(device).
    std::function<void(const CallTensors&)> launch;
    /// The two halves of `launch`: filling the packed weights, and a call with packed weights that are filled already.
    /// Null where the weight is used as it is.
    std::function<void(const CallTensors&)> pack;
    std::function<void(const CallTensors&)> launch_packed;
    std::optional<OtherBatch> other_batch;  ///< none where the batch is fixed
};

/// Packs the weights now, where they are packed: the runnable's calls from then on take `tensors.packed_weight` as it
/// is.
void keep_packed(Runnable& runnable, const CallTensors& tensors);

/// The call as a program that records its work makes it: without gaps between several launches. A call that the device
/// cannot record is launched each time. All arguments outlive the result.
[[nodiscard]] std::function<void()> replayed(Device& device, const Runnable& runnable, const CallTensors& tensors);

}  // namespace tconv
