#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/database.hpp"
#include "device/compiler.hpp"
#include "device/device.hpp"
#include "tuner/builder.hpp"
#include "tuner/support_kernels.hpp"
#include "tuner/timer.hpp"

namespace tconv {

/// Says why times taken since its last call are doubtful, one sentence each: "another process uses the GPU". The first
/// call only begins.
using DisturbanceWatch = std::function<std::vector<std::string>()>;

/// What the sessions of one process on one device share: compiled code, the kernels of validation, the timer and the
/// device's ceilings. Each part is made when it is first asked for.
class Laboratory {
public:
    /// Device and compiler outlive the object; without a watch nothing is ever disturbed.
    Laboratory(Device& device, Compiler& compiler, DisturbanceWatch watch = {});
    Laboratory(const Laboratory&) = delete;
    Laboratory& operator=(const Laboratory&) = delete;
    ~Laboratory();

    [[nodiscard]] Device& device() { return device_; }
    [[nodiscard]] Builder& builder() { return builder_; }
    [[nodiscard]] SupportKernels& support();
    [[nodiscard]] Timer& timer();
    /// Measured once.
    [[nodiscard]] const Ceilings& ceilings();
    /// What disturbed the device since the last call, in one clause; empty: nothing.
    [[nodiscard]] std::string disturbance();

private:
    Device& device_;
    Builder builder_;
    DisturbanceWatch watch_;
    std::unique_ptr<SupportKernels> support_;
    std::unique_ptr<Timer> timer_;
    std::optional<Ceilings> ceilings_;
};

}  // namespace tconv
