#pragma once

#include <cstdint>

#include "core/launch_plan.hpp"
#include "device/device.hpp"

namespace tconv {

/// Addresses of one call, as a plan's arguments name them, and where it is enqueued.
struct CallTensors {
    DevicePointer input = 0;
    DevicePointer weight = 0;
    DevicePointer bias = 0;  ///< 0 without bias
    DevicePointer output = 0;
    DevicePointer workspace = 0;
    DevicePointer packed_weight = 0;  ///< LaunchPlan::packed_weight_bytes
    StreamHandle stream = nullptr;
};

/// Which launches of a plan.
enum class PlanPart {
    all,
    weights_only,  ///< those that fill the packed weights
    call,          ///< the others, given packed weights that are filled already
};

/// Enqueues these launches of a plan for `batch` entries on `tensors.stream`, in order. Throws Error(device).
void launch_plan(Device& device, Module& module, const LaunchPlan& plan, std::int64_t batch, const CallTensors& tensors,
                 PlanPart part = PlanPart::all);

}  // namespace tconv
