#include <fmt/format.h>

#include "device/nvrtc/nvrtc.hpp"

namespace tconv {

std::string architecture_of(const DeviceInfo& device) {
    const char* specific = device.compute_major >= 9 ? "a" : "";
    return fmt::format("sm_{}{}{}", device.compute_major, device.compute_minor, specific);
}

}  // namespace tconv
