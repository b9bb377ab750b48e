#pragma once

#include <cstdio>
#include <cstdlib>

#include "device/driver/driver.hpp"

namespace tconv {

/// Ends the process with CTest's code for "skipped", and says why, where no GPU can be used.
inline void require_gpu() {
    const DriverStatus status = driver_status();
    if (status.available) return;
    std::printf("Skipped: %s\n", status.reason.c_str());
    std::fflush(stdout);
    std::_Exit(77);
}

}  // namespace tconv
