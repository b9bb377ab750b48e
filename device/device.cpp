#include "device/device.hpp"

#include <fmt/format.h>

namespace tconv {

std::size_t Device::memory_limit() const {
    return limit_.value_or(static_cast<std::size_t>(info().memory_bytes));
}

DevicePointer Device::allocate(std::size_t bytes) {
    if (limit_ && (allocated_ > *limit_ || bytes > *limit_ - allocated_)) {
        throw OutOfDeviceMemory(fmt::format("{} bytes of device memory, beside {} in use, would pass the limit of {}",
                                            bytes, allocated_, *limit_));
    }
    const DevicePointer pointer = take_memory(bytes);
    sizes_.emplace(pointer, bytes);
    allocated_ += bytes;
    return pointer;
}

void Device::release(DevicePointer pointer) noexcept {
    if (const auto found = sizes_.find(pointer); found != sizes_.end()) {
        allocated_ -= found->second;
        sizes_.erase(found);
    }
    give_memory_back(pointer);
}

}  // namespace tconv
