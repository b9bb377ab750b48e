#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "device/compiler.hpp"
#include "device/device.hpp"
#include "tuner/laboratory.hpp"
#include "tuner/workers/worker_evaluator.hpp"

namespace tconv {

/// Which device a command uses, before anything is opened.
struct DeviceChoice {
    bool emulator = true;
    int ordinal = 0;     ///< of the CUDA device
    std::string reason;  ///< one sentence: which device, and why
};

/// "auto" (the first CUDA device where the driver and NVRTC are there, else the emulator), "cuda:N" or "emulator".
/// Throws Error(bad_input) when the text is none of these or the device is not there, with what is missing.
[[nodiscard]] DeviceChoice choose_device(const std::string& text);

/// A device and the compiler that makes its code.
struct OpenedDevice {
    std::unique_ptr<Device> device;
    std::unique_ptr<Compiler> compiler;
};

/// Throws Error(unavailable) when the device or its compiler cannot be used.
[[nodiscard]] OpenedDevice open_device(const DeviceChoice& choice);

/// Bytes of "--device-memory-limit", a number of MiB; none where the text is empty. Throws Error(bad_input).
[[nodiscard]] std::optional<std::size_t> parse_device_memory_limit(const std::string& text);

/// Bounds what may be allocated on a device at once: `bytes`, or nine tenths of its memory.
void limit_device_memory(Device& device, std::optional<std::size_t> bytes);

/// Facts of a present CUDA device, "cuda:N"; needs the driver alone. Throws Error(bad_input) naming `flag`.
[[nodiscard]] DeviceInfo cuda_device_facts(const std::string& flag, const std::string& text);

/// Facts of the chosen device, without a compiler.
[[nodiscard]] DeviceInfo device_facts(const DeviceChoice& choice);

/// Watches the chosen device through NVML; empty for the emulator, which nothing disturbs that it could tell.
[[nodiscard]] DisturbanceWatch disturbance_watch(const DeviceChoice& choice);

inline constexpr const char* k_nvrtc_compiler = "nvrtc";
inline constexpr const char* k_host_compiler = "host";

/// How this very program is started as the workers of a device; the limit in bytes, whole MiB.
[[nodiscard]] WorkerCommands worker_commands(const DeviceChoice& choice,
                                             std::optional<std::size_t> device_memory_limit);

}  // namespace tconv
