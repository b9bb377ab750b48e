#pragma once

#include <memory>
#include <string>

#include "core/device_info.hpp"
#include "device/compiler.hpp"

namespace tconv {

struct NvrtcStatus {
    bool available = false;
    std::string version;  ///< "13.0"
    std::string path;     ///< the library that was opened
    std::string reason;   ///< one sentence when not available
};

/// Opens libnvrtc (once a process): TCONV_NVRTC where set, then the loader's path, then the usual toolkit folders.
/// Never throws.
[[nodiscard]] NvrtcStatus nvrtc_status();

/// Throws Error(unavailable) with the status's reason.
[[nodiscard]] std::unique_ptr<Compiler> make_nvrtc_compiler();

/// The real architecture to compile for: "sm_90a" where the architecture-specific variant exists (9.0 and newer), else
/// "sm_86".
[[nodiscard]] std::string architecture_of(const DeviceInfo& device);

}  // namespace tconv
