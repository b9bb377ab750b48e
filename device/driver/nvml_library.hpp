#pragma once

#include <string>

namespace tconv::nvml {

// The part of NVIDIA's nvml.h that tconv uses: the header is no part of the CUDA Toolkit's smallest installations.
// Names and values are those of NVIDIA's "NVML API Reference Guide".
using Device = void*;  // nvmlDevice_t
using Return = int;    // nvmlReturn_t; 0 is success

inline constexpr Return k_success = 0;
inline constexpr Return k_insufficient_size = 7;
inline constexpr int k_driver_version_size = 80;

enum ClockType : int { k_clock_sm = 1, k_clock_memory = 2 };
enum Sensor : int { k_sensor_gpu = 0 };
enum PerformancePolicy : int { k_policy_power = 0, k_policy_thermal = 1 };

/// nvmlClocksThrottleReasons
inline constexpr unsigned long long k_gpu_idle = 0x1;
inline constexpr unsigned long long k_power_cap = 0x4;
inline constexpr unsigned long long k_hardware_slowdown = 0x8;
inline constexpr unsigned long long k_sync_boost = 0x10;
inline constexpr unsigned long long k_software_thermal = 0x20;
inline constexpr unsigned long long k_hardware_thermal = 0x40;
inline constexpr unsigned long long k_power_brake = 0x80;

/// nvmlProcessInfo_v2_t
struct ProcessInfo {
    unsigned int pid;
    unsigned long long used_memory;
    unsigned int gpu_instance;
    unsigned int compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24, "layout of nvmlProcessInfo_v2_t");

/// nvmlViolationTime_t
struct ViolationTime {
    unsigned long long reference_microseconds;
    unsigned long long violation_nanoseconds;
};

extern "C" {
using Init = Return();
using ErrorString = const char*(Return);
using SystemDriverVersion = Return(char*, unsigned int);
using HandleByPciBusId = Return(const char*, Device*);
using ClockInfo = Return(Device, ClockType, unsigned int*);
using Temperature = Return(Device, Sensor, unsigned int*);
using PowerUsage = Return(Device, unsigned int*);  // milliwatts
using ThrottleReasons = Return(Device, unsigned long long*);
using RunningProcesses = Return(Device, unsigned int*, ProcessInfo*);
using ViolationStatus = Return(Device, PerformancePolicy, ViolationTime*);
}

/// How opening and initialising the library went; `reason` is one sentence when `handle` is null.
struct Library {
    void* handle = nullptr;
    std::string reason;
};

/// Opened and initialised on the first call and never closed. Never throws.
[[nodiscard]] const Library& library();

/// Null where the library is not there or lacks the function.
[[nodiscard]] void* symbol(const char* name);

template <class Function>
[[nodiscard]] Function* function(const char* name) {
    return reinterpret_cast<Function*>(symbol(name));
}

/// The library's words for a code: "Not Supported".
[[nodiscard]] std::string error_text(Return result);

}  // namespace tconv::nvml
