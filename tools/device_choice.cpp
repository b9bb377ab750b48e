#include "tools/device_choice.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "core/error.hpp"
#include "device/driver/driver.hpp"
#include "device/driver/nvml.hpp"
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

/// Why the driver shows no device; empty when it shows one.
std::string driver_obstacle(const DriverStatus& driver) {
    if (!driver.available) return inside(driver.reason);
    return driver.devices.empty() ? "the CUDA driver lists no device" : "";
}

/// Why no CUDA device can be used; empty when one can.
std::string cuda_obstacle(const DriverStatus& driver) {
    if (std::string obstacle = driver_obstacle(driver); !obstacle.empty()) return obstacle;
    const NvrtcStatus nvrtc = nvrtc_status();
    return nvrtc.available ? "" : inside(nvrtc.reason);
}

constexpr std::string_view k_cuda = "cuda:";

int ordinal_of(const std::string& flag, const std::string& text) {
    return static_cast<int>(parse_integer(flag + " cuda:N", std::string_view(text).substr(k_cuda.size()), 0,
                                          std::numeric_limits<int>::max()));
}

/// The device's facts, where `obstacle` is empty and there is a device of that number.
const DeviceInfo& present_device(const DriverStatus& driver, const std::string& obstacle, const std::string& flag,
                                 const std::string& text, int ordinal) {
    if (!obstacle.empty())
        throw Error(ErrorKind::bad_input, fmt::format("{} ({}) cannot be used: {}", flag, text, obstacle));
    if (static_cast<std::size_t>(ordinal) >= driver.devices.size()) {
        throw Error(ErrorKind::bad_input, fmt::format("{} ({}) must be below cuda:{}, the number of CUDA devices", flag,
                                                      text, driver.devices.size()));
    }
    return driver.devices[static_cast<std::size_t>(ordinal)];
}

DeviceChoice cuda_choice(const std::string& text) {
    const int ordinal = ordinal_of("--device", text);
    const DriverStatus driver = driver_status();
    const DeviceInfo& info = present_device(driver, cuda_obstacle(driver), "--device", text, ordinal);
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
    if (text == "auto") return automatic_choice();
    if (text == "emulator") return {true, 0, "using the emulator, as asked"};
    if (text.rfind(k_cuda, 0) != 0)
        throw Error(ErrorKind::bad_input, fmt::format("--device ({}) must be auto, cuda:N or emulator", shown(text)));
    return cuda_choice(text);
}

DeviceInfo cuda_device_facts(const std::string& flag, const std::string& text) {
    if (text.rfind(k_cuda, 0) != 0)
        throw Error(ErrorKind::bad_input, fmt::format("{} ({}) must be cuda:N", flag, shown(text)));
    const int ordinal = ordinal_of(flag, text);
    const DriverStatus driver = driver_status();
    return present_device(driver, driver_obstacle(driver), flag, text, ordinal);
}

OpenedDevice open_device(const DeviceChoice& choice) {
    if (choice.emulator) return {make_emulator(), make_host_compiler()};
    return {open_cuda_device(choice.ordinal), make_nvrtc_compiler()};
}

std::optional<std::size_t> parse_device_memory_limit(const std::string& text) {
    constexpr std::int64_t most_mebibytes = std::int64_t{1} << 24;
    if (text.empty()) return std::nullopt;
    return static_cast<std::size_t>(parse_integer("--device-memory-limit", text, 64, most_mebibytes)) << 20;
}

void limit_device_memory(Device& device, std::optional<std::size_t> bytes) {
    device.limit_memory(bytes.value_or(static_cast<std::size_t>(device.info().memory_bytes / 10 * 9)));
}

DeviceInfo device_facts(const DeviceChoice& choice) {
    if (choice.emulator) return make_emulator()->info();
    return driver_status().devices.at(static_cast<std::size_t>(choice.ordinal));
}

DisturbanceWatch disturbance_watch(const DeviceChoice& choice) {
    if (choice.emulator) return {};
    const auto monitor = std::make_shared<const GpuMonitor>(pci_bus_id(choice.ordinal));
    const auto last = std::make_shared<std::optional<GpuConditions>>();
    return [monitor, last] {
        const GpuConditions now = monitor->read();
        std::vector<std::string> warnings;
        if (*last) warnings = condition_warnings(**last, now);
        *last = now;
        return warnings;
    };
}

WorkerCommands worker_commands(const DeviceChoice& choice, std::optional<std::size_t> device_memory_limit) {
    // Not the path that the link shows: this very program, also where another version takes its place meanwhile.
    const std::string program = "/proc/self/exe";
    const std::string device = choice.emulator ? "emulator" : fmt::format("cuda:{}", choice.ordinal);
    std::vector<std::string> evaluate{program, "worker", "--device", device};
    if (device_memory_limit)
        evaluate.insert(evaluate.end(), {"--device-memory-limit", fmt::format("{}", *device_memory_limit >> 20)});
    return {std::move(evaluate),
            {program, "worker", "--compiler", choice.emulator ? k_host_compiler : k_nvrtc_compiler}};
}

}  // namespace tconv
