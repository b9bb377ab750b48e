#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "device/launch.hpp"

namespace tconv {

/// A way to compute one problem, ready to be validated and timed: a candidate's launch plan, or another library's.
struct Runnable {
    std::string description;           ///< for people: "direct", "engine 38 in nhwc"
    std::int64_t workspace_bytes = 0;  ///< what `CallTensors::workspace` must hold
    /// Two runs on the same tensors give the same bits. Where not, the repeat is not compared.
    bool deterministic = true;
    /// Enqueues one call on the stream of the tensors. Throws Error(device).
    std::function<void(const CallTensors&)> launch;
};

/// The call as a program that records its work makes it: without gaps between several launches. A call that the device
/// cannot record is launched each time. All arguments outlive the result.
[[nodiscard]] std::function<void()> replayed(Device& device, const Runnable& runnable, const CallTensors& tensors);

}  // namespace tconv
