#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "device/device.hpp"

namespace tconv {

/// A device with the lock that it needs: the CUDA driver takes launches from several threads at once, the emulator runs
/// one thing at a time.
class SharedDevice {
public:
    explicit SharedDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

    [[nodiscard]] Device& device() const { return *device_; }
    [[nodiscard]] const DeviceInfo& info() const { return device_->info(); }
    [[nodiscard]] bool emulated() const { return info().kind == DeviceKind::emulator; }

    /// Held while the device works: real for the emulator, empty for CUDA.
    [[nodiscard]] std::unique_lock<std::mutex> lock() const {
        return emulated() ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
    }

private:
    std::unique_ptr<Device> device_;
    mutable std::mutex mutex_;
};

/// Opens what RuntimeOptions::device names. Throws Error(bad_input) for text that names nothing, Error(unavailable) for
/// a device that is not there.
[[nodiscard]] std::unique_ptr<Device> open_device(const std::string& text);

}  // namespace tconv
