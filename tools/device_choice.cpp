#include "tools/device_choice.hpp"

#include <fmt/format.h>

#include <limits>

#include "core/error.hpp"
#include "device/driver/driver.hpp"
#include "device/emulator/emulator.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "tools/format.hpp"
#include "tools/values.hpp"

namespace tconv {
namespace {

/// A sentence without its full stop, to stand inside another.
std::string inside(std::string sentence) {
    if (sentence.ends_with('.')) sentence.pop_back();
    return sentence;
}

/// Why no CUDA device can be used; empty when one can.
std::string cuda_obstacle(const DriverStatus& driver) {
    if (!driver.available) return inside(driver.reason);
    if (driver.devices.empty()) return "the CUDA driver lists no device";
    const NvrtcStatus nvrtc = nvrtc_status();
    return nvrtc.available ? "" : inside(nvrtc.reason);
}

DeviceChoice cuda_choice(const std::string& text, int ordinal) {
    const DriverStatus driver = driver_status();
    if (const std::string obstacle = cuda_obstacle(driver); !obstacle.empty())
        throw Error(ErrorKind::bad_input, fmt::format("--device ({}) cannot be used: {}", text, obstacle));
    if (static_cast<std::size_t>(ordinal) >= driver.devices.size()) {
        throw Error(ErrorKind::bad_input, fmt::format("--device ({}) must be below cuda:{}, the number of CUDA devices",
                                                      text, driver.devices.size()));
    }
    const DeviceInfo& info = driver.devices[static_cast<std::size_t>(ordinal)];
    return {false, ordinal, fmt::format("using cuda:{} ({})", ordinal, info.name)};
}

DeviceChoice automatic_choice() {
    const DriverStatus driver = driver_status();
    const std::string obstacle = cuda_obstacle(driver);
    if (obstacle.empty())
        return {false, 0, fmt::format("using cuda:0 ({}), the first CUDA device", driver.devices.front().name)};
    return {true, 0, fmt::format("using the emulator, since no GPU can be used: {}", obstacle)};
}

}  // namespace

DeviceChoice choose_device(const std::string& text) {
    constexpr std::string_view cuda = "cuda:";
    if (text == "auto") return automatic_choice();
    if (text == "emulator") return {true, 0, "using the emulator, as asked"};
    if (text.rfind(cuda, 0) != 0)
        throw Error(ErrorKind::bad_input, fmt::format("--device ({}) must be auto, cuda:N or emulator", shown(text)));
    const std::int64_t ordinal = parse_integer("--device cuda:N", std::string_view(text).substr(cuda.size()), 0,
                                               std::numeric_limits<int>::max());
    return cuda_choice(text, static_cast<int>(ordinal));
}

OpenedDevice open_device(const DeviceChoice& choice) {
    if (choice.emulator) return {make_emulator(), make_host_compiler()};
    return {open_cuda_device(choice.ordinal), make_nvrtc_compiler()};
}

DeviceInfo device_facts(const DeviceChoice& choice) {
    if (choice.emulator) return make_emulator()->info();
    return driver_status().devices.at(static_cast<std::size_t>(choice.ordinal));
}

}  // namespace tconv
