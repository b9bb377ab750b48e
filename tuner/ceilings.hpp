#pragma once

#include "cache/database.hpp"
#include "core/problem.hpp"
#include "device/device.hpp"
#include "tuner/support_kernels.hpp"
#include "tuner/timer.hpp"

namespace tconv {

/// Measures what the device can do: a large copy (bytes read plus written), fp32 multiply-adds, an empty launch.
[[nodiscard]] Ceilings measure_ceilings(Device& device, SupportKernels& support, Timer& timer);

/// The least time of a problem in milliseconds: max(bytes / copy bandwidth, flops / fp32 rate), not below an empty
/// launch.
[[nodiscard]] double limit_milliseconds(const Problem& problem, const Ceilings& ceilings);

}  // namespace tconv
