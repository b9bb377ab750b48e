#pragma once

#include <memory>
#include <optional>

#include "cache/database.hpp"
#include "device/compiler.hpp"
#include "device/device.hpp"
#include "tuner/builder.hpp"
#include "tuner/support_kernels.hpp"
#include "tuner/timer.hpp"

namespace tconv {

/// What the sessions of one process on one device share: compiled code, the kernels of validation, the timer and the
/// device's ceilings. Each part is made when it is first asked for.
class Laboratory {
public:
    /// Both outlive the object.
    Laboratory(Device& device, Compiler& compiler);
    Laboratory(const Laboratory&) = delete;
    Laboratory& operator=(const Laboratory&) = delete;
    ~Laboratory();

    [[nodiscard]] Device& device() { return device_; }
    [[nodiscard]] Builder& builder() { return builder_; }
    [[nodiscard]] SupportKernels& support();
    [[nodiscard]] Timer& timer();
    /// Measured once.
    [[nodiscard]] const Ceilings& ceilings();

private:
    Device& device_;
    Builder builder_;
    std::unique_ptr<SupportKernels> support_;
    std::unique_ptr<Timer> timer_;
    std::optional<Ceilings> ceilings_;
};

}  // namespace tconv
