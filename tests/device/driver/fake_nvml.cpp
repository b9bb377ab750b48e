// The entry points of NVIDIA's management library that tconv uses. Every call answers 0 unless FAKE_NVML_<function>
// holds another code; values come from FAKE_NVML_<name>.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "device/driver/nvml_library.hpp"

namespace {

using namespace tconv::nvml;

int setting(const std::string& name, int fallback) {
    const char* value = std::getenv(("FAKE_NVML_" + name).c_str());
    return value == nullptr ? fallback : std::atoi(value);
}

Return number(const char* call, const std::string& name, int fallback, unsigned int* value) {
    *value = static_cast<unsigned int>(setting(name, fallback));
    return setting(call, 0);
}

/// `count` processes, this one first unless FAKE_NVML_hide_own says not.
Return list(const char* call, int count, unsigned int first, unsigned int* size, ProcessInfo* processes) {
    const unsigned int room = *size;
    *size = static_cast<unsigned int>(count);
    if (setting(call, 0) != 0) return setting(call, 0);
    if (room < *size) return k_insufficient_size;
    for (unsigned int i = 0; i < *size; ++i)
        processes[i] = {first + i, 1, ~0U, ~0U};
    if (*size > 0 && setting("hide_own", 0) == 0) processes[0].pid = static_cast<unsigned int>(getpid());
    return k_success;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() {
    return setting("nvmlInit", 0);
}
const char* nvmlErrorString(Return result) {
    return result == 3 ? "Not Supported" : result == 6 ? "Not Found" : result == 9 ? "Driver Not Loaded" : nullptr;
}
Return nvmlSystemGetDriverVersion(char* text, unsigned int length) {
    std::snprintf(text, length, "580.159.04");
    return setting("nvmlSystemGetDriverVersion", 0);
}
Return nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
    static int handle = 0;
    if (std::string(bus_id) != "0000:1b:00.0") return 6;
    *device = &handle;
    return k_success;
}
Return nvmlDeviceGetClockInfo(Device, ClockType type, unsigned int* mhz) {
    return type == k_clock_sm ? number("sm_clock", "sm_mhz", 1980, mhz)
                              : number("memory_clock", "memory_mhz", 3201, mhz);
}
Return nvmlDeviceGetMaxClockInfo(Device, ClockType, unsigned int* mhz) {
    return number("nvmlDeviceGetMaxClockInfo", "max_sm_mhz", 1985, mhz);
}
Return nvmlDeviceGetTemperature(Device, Sensor, unsigned int* celsius) {
    return number("nvmlDeviceGetTemperature", "celsius", 41, celsius);
}
Return nvmlDeviceGetPowerUsage(Device, unsigned int* milliwatts) {
    return number("nvmlDeviceGetPowerUsage", "milliwatts", 123456, milliwatts);
}
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device, unsigned long long* reasons) {
    *reasons = static_cast<unsigned long long>(setting("reasons", 0));
    return setting("nvmlDeviceGetCurrentClocksThrottleReasons", 0);
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device, unsigned int* size, ProcessInfo* processes) {
    return list("nvmlDeviceGetComputeRunningProcesses", setting("compute", 1), 1000000001, size, processes);
}
Return nvmlDeviceGetGraphicsRunningProcesses_v2(Device, unsigned int* size, ProcessInfo* processes) {
    return list("nvmlDeviceGetGraphicsRunningProcesses", setting("graphics", 0), 1500000001, size, processes);
}
Return nvmlDeviceGetViolationStatus(Device, PerformancePolicy policy, ViolationTime* time) {
    time->violation_nanoseconds = policy == k_policy_power ? 2500000 : 7000000;
    return setting("nvmlDeviceGetViolationStatus", 0);
}

}  // extern "C"
