#include "device/driver/nvml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "device/driver/nvml_library.hpp"

namespace tconv {
namespace {

// Slowdowns alone: an idle GPU, clocks that the user has set and those of a display are as they should be.
constexpr std::array<std::pair<unsigned long long, const char*>, 6> k_slowdowns{{
    {nvml::k_power_cap, "power cap"},
    {nvml::k_software_thermal, "temperature"},
    {nvml::k_hardware_thermal, "temperature, by the hardware"},
    {nvml::k_power_brake, "power brake"},
    {nvml::k_hardware_slowdown, "by the hardware"},
    {nvml::k_sync_boost, "clocks kept equal with another GPU"},
}};

/// Asks one device; notes what it does not answer.
class Inquiry {
public:
    explicit Inquiry(nvml::Device device) : device_(device) {}

    /// The value that the function writes at its end; `what` is "SM clock".
    template <class Function, class Value, class... Arguments>
    [[nodiscard]] std::optional<Value> ask(const char* what, const char* name, Value value, Arguments... arguments) {
        auto* const function = nvml::function<Function>(name);
        if (function == nullptr) {
            missing(what, "this driver does not tell it");
            return std::nullopt;
        }
        if (const nvml::Return result = function(device_, arguments..., &value); result != nvml::k_success) {
            missing(what, nvml::error_text(result));
            return std::nullopt;
        }
        return value;
    }

    /// The same, 0 where there is no answer.
    template <class Function, class... Arguments>
    [[nodiscard]] int number(const char* what, const char* name, Arguments... arguments) {
        return static_cast<int>(ask<Function>(what, name, 0U, arguments...).value_or(0U));
    }

    /// Process numbers from the first of these functions that the driver has.
    [[nodiscard]] std::optional<std::vector<unsigned int>> processes(const char* what,
                                                                     std::initializer_list<const char*> names);

    [[nodiscard]] const std::string& reason() const { return reason_; }

private:
    void missing(const char* what, const std::string& why) {
        reason_ += fmt::format("{}{}: {}", reason_.empty() ? "" : "; ", what, why);
    }

    nvml::Device device_;
    std::string reason_;
};

std::optional<std::vector<unsigned int>> Inquiry::processes(const char* what,
                                                            std::initializer_list<const char*> names) {
    nvml::RunningProcesses* function = nullptr;
    for (const char* name : names) {
        if (function == nullptr) function = nvml::function<nvml::RunningProcesses>(name);
    }
    if (function == nullptr) {
        missing(what, "this driver does not tell it");
        return std::nullopt;
    }
    // The list may grow between two calls.
    std::vector<nvml::ProcessInfo> list(16);
    nvml::Return result = nvml::k_insufficient_size;
    for (int attempt = 0; attempt < 4 && result == nvml::k_insufficient_size; ++attempt) {
        auto count = static_cast<unsigned int>(list.size());
        result = function(device_, &count, list.data());
        list.resize(result == nvml::k_insufficient_size ? std::max<std::size_t>(2 * list.size(), count) : count);
    }
    if (result != nvml::k_success) {
        missing(what, nvml::error_text(result));
        return std::nullopt;
    }
    std::vector<unsigned int> numbers;
    for (const nvml::ProcessInfo& process : list)
        numbers.push_back(process.pid);
    return numbers;
}

/// Those that are not this process; negative when no list is to be had.
int count_other_processes(Inquiry& inquiry) {
    const auto compute = inquiry.processes(
        "compute processes", {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
    if (!compute) return -1;
    std::vector<unsigned int> all = *compute;
    if (const auto graphics = inquiry.processes("graphics processes", {"nvmlDeviceGetGraphicsRunningProcesses_v3",
                                                                       "nvmlDeviceGetGraphicsRunningProcesses_v2"})) {
        all.insert(all.end(), graphics->begin(), graphics->end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    // One is this process, be it under another name space's number.
    return static_cast<int>(all.size()) - (all.empty() ? 0 : 1);
}

double violation_milliseconds(Inquiry& inquiry, const char* what, nvml::PerformancePolicy policy) {
    const auto time =
        inquiry.ask<nvml::ViolationStatus>(what, "nvmlDeviceGetViolationStatus", nvml::ViolationTime{}, policy);
    return time ? static_cast<double>(time->violation_nanoseconds) / 1e6 : -1;
}

std::vector<std::string> slowdown_names(unsigned long long reasons) {
    std::vector<std::string> names;
    for (const auto& [bit, name] : k_slowdowns) {
        if ((reasons & bit) != 0) names.emplace_back(name);
    }
    return names;
}

}  // namespace

GpuMonitor::GpuMonitor(const std::string& pci_bus_id) {
    const nvml::Library& library = nvml::library();
    if (library.handle == nullptr) {
        reason_ = library.reason;
        return;
    }
    auto* const find = nvml::function<nvml::HandleByPciBusId>("nvmlDeviceGetHandleByPciBusId_v2");
    if (find == nullptr) {
        reason_ = "The management library lacks nvmlDeviceGetHandleByPciBusId_v2.";
        return;
    }
    if (const nvml::Return result = find(pci_bus_id.c_str(), &device_); result != nvml::k_success) {
        device_ = nullptr;
        reason_ = fmt::format("The management library does not find the GPU at PCI address '{}': {}.", pci_bus_id,
                              nvml::error_text(result));
    }
}

GpuConditions GpuMonitor::read() const {
    GpuConditions conditions;
    conditions.reason = reason_;
    if (device_ == nullptr) return conditions;
    conditions.available = true;
    Inquiry inquiry(device_);
    conditions.sm_mhz = inquiry.number<nvml::ClockInfo>("SM clock", "nvmlDeviceGetClockInfo", nvml::k_clock_sm);
    conditions.memory_mhz =
        inquiry.number<nvml::ClockInfo>("memory clock", "nvmlDeviceGetClockInfo", nvml::k_clock_memory);
    conditions.max_sm_mhz =
        inquiry.number<nvml::ClockInfo>("largest SM clock", "nvmlDeviceGetMaxClockInfo", nvml::k_clock_sm);
    // The reasons at once after the clocks: they explain those.
    const auto reasons =
        inquiry.ask<nvml::ThrottleReasons>("reasons of the clocks", "nvmlDeviceGetCurrentClocksThrottleReasons", 0ULL);
    conditions.idle = (reasons.value_or(0) & nvml::k_gpu_idle) != 0;
    conditions.throttle_reasons = slowdown_names(reasons.value_or(0));
    conditions.temperature_celsius =
        inquiry.number<nvml::Temperature>("temperature", "nvmlDeviceGetTemperature", nvml::k_sensor_gpu);
    conditions.power_watts = inquiry.number<nvml::PowerUsage>("power", "nvmlDeviceGetPowerUsage") / 1000.0;
    conditions.power_capped_milliseconds =
        violation_milliseconds(inquiry, "time slowed down by the power cap", nvml::k_policy_power);
    conditions.heat_slowed_milliseconds =
        violation_milliseconds(inquiry, "time slowed down by heat", nvml::k_policy_thermal);
    conditions.other_processes = count_other_processes(inquiry);
    conditions.reason = inquiry.reason();
    return conditions;
}

std::string GpuMonitor::driver_package_version() {
    auto* const version = nvml::function<nvml::SystemDriverVersion>("nvmlSystemGetDriverVersion");
    std::array<char, nvml::k_driver_version_size> text{};
    if (version == nullptr || version(text.data(), text.size() - 1) != nvml::k_success) return {};
    return text.data();
}

}  // namespace tconv
