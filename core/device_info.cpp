#include "core/device_info.hpp"

#include <fmt/format.h>

namespace tconv {

std::string device_key(const DeviceInfo& device) {
    return fmt::format("{}, cc {}.{}, {} multiprocessors", device.name, device.compute_major, device.compute_minor,
                       device.multiprocessors);
}

}  // namespace tconv
