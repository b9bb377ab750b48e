#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/cudnn/engines.hpp"
#include "device/device.hpp"

namespace tconv::cudnn {

/// Addresses of one call in the order of the plan's tensors.
struct PlanTensors {
    DevicePointer input = 0, weight = 0, bias = 0, output = 0, workspace = 0;

    friend bool operator==(const PlanTensors&, const PlanTensors&) = default;
};

/// An engine configuration made ready to run: an execution plan.
class Plan {
public:
    /// Can take seconds. `handle` and `device_properties` may be null, not both. Throws Error(device) where the library
    /// refuses.
    Plan(const Library& library, void* handle, const Descriptor* device_properties, const EngineConfig& config);

    [[nodiscard]] std::int64_t workspace_bytes() const { return workspace_bytes_; }

    /// Enqueues it on the handle's stream. The addresses of the last call are kept ready, so that a repeat costs the
    /// host little. `tensors.bias` is 0 where the graph has none. Throws Error(device).
    void execute(void* handle, const PlanTensors& tensors);

private:
    Library library_;
    Descriptor plan_;
    std::int64_t workspace_bytes_ = 0;
    PlanTensors tensors_;
    std::optional<Descriptor> addresses_;  // of tensors_
};

}  // namespace tconv::cudnn
