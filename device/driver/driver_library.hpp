#pragma once

#include <string>

#include "core/device_info.hpp"

namespace tconv::cuda {

/// How opening and initialising the driver went; `reason` is one sentence when `handle` is null.
struct DriverLibrary {
    void* handle = nullptr;
    std::string reason;
    int version = 0;  ///< of CUDA that it supports: 13000
};

/// The driver's library, opened and initialised on the first call and never closed: TCONV_CUDA_DRIVER where set, else
/// libcuda.so.1 from the loader's path and the folders where containers put it. Never throws.
[[nodiscard]] const DriverLibrary& driver_library();

/// Address of an exported function by its versioned name. Throws Error(unavailable) when the driver is not there or too
/// old to have it.
[[nodiscard]] void* driver_symbol(const char* name);

/// A function of the driver with the type that cuda.h gives it.
template <class Function>
[[nodiscard]] Function* driver_function(const char* name) {
    return reinterpret_cast<Function*>(driver_symbol(name));
}

/// "CUDA_ERROR_INVALID_VALUE (invalid argument)"; "error 12345" for a code that the driver cannot name.
[[nodiscard]] std::string error_text(int result);

/// Throws Error(device) "call(subject): CUDA_ERROR_X (text)" unless `result` is 0.
void check(int result, const char* call, const std::string& subject = {});

/// Name, limits and sizes of device `ordinal`.
[[nodiscard]] DeviceInfo query_device(int ordinal);

/// "13.0" for 13000.
[[nodiscard]] std::string version_text(int version);

}  // namespace tconv::cuda
