#pragma once

#include <memory>

#include "device/device.hpp"

namespace tconv::cuda {

/// Retains the primary context of device `ordinal`, which must exist, until the device and its modules are gone.
[[nodiscard]] std::unique_ptr<Device> open_primary(int ordinal);

/// Works in the context that is current on this thread, which stays the caller's; null when none is.
[[nodiscard]] std::unique_ptr<Device> open_current();

}  // namespace tconv::cuda
