#pragma once

#include <functional>
#include <memory>

#include "device/device.hpp"

namespace tconv::cuda {

/// Captures what `work` enqueues on the stream that it is given in a graph (CUDA driver API, "Graph Management"). The
/// context must be current here, at each replay and at the recording's end. Throws Error(device) where something in the
/// work cannot be captured, and Error(unavailable) where the driver is too old.
[[nodiscard]] std::unique_ptr<Recording> record_graph(const std::function<void(StreamHandle)>& work);

}  // namespace tconv::cuda
