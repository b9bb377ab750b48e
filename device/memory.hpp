#pragma once

#include <cstddef>

#include "device/device.hpp"

namespace tconv {

/// Device memory that lives as long as the object. The device outlives it.
class DeviceMemory {
public:
    DeviceMemory(Device& device, std::size_t bytes) : device_(device), address_(device.allocate(bytes)) {}
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    ~DeviceMemory() { device_.release(address_); }

    [[nodiscard]] DevicePointer address() const { return address_; }

private:
    Device& device_;
    DevicePointer address_;
};

}  // namespace tconv
