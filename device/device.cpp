#include "device/device.hpp"

#include <fmt/format.h>

#include <new>

namespace tconv {
namespace {

constexpr std::size_t k_spare_share = 4;          // of the memory waits to be used again at most
constexpr std::size_t k_loose_share = 8;          // of a size may a block be larger than asked for
constexpr std::size_t k_loose_bytes = 64 * 1024;  // and that much

}  // namespace

std::size_t Device::memory_limit() const {
    return limit_.value_or(static_cast<std::size_t>(info().memory_bytes));
}

DevicePointer Device::allocate(std::size_t bytes) {
    if (limit_ && (allocated_ > *limit_ || bytes > *limit_ - allocated_)) {
        throw OutOfDeviceMemory(fmt::format("{} bytes of device memory, beside {} in use, would pass the limit of {}",
                                            bytes, allocated_, *limit_));
    }
    if (const auto spare = take_spare(bytes)) return *spare;
    const DevicePointer pointer = take_or_make_room(bytes);
    sizes_.emplace(pointer, bytes);
    allocated_ += bytes;
    return pointer;
}

// The smallest block that is large enough and not much larger.
std::optional<DevicePointer> Device::take_spare(std::size_t bytes) {
    const auto found = spare_.lower_bound(bytes);
    if (found == spare_.end() || found->first > bytes + bytes / k_loose_share + k_loose_bytes) return std::nullopt;
    const auto [capacity, pointer] = *found;
    if (limit_ && capacity > *limit_ - allocated_) return std::nullopt;
    spare_.erase(found);
    spare_bytes_ -= capacity;
    sizes_.emplace(pointer, capacity);
    allocated_ += capacity;
    return pointer;
}

DevicePointer Device::take_or_make_room(std::size_t bytes) {
    if (limit_ && bytes + spare_bytes_ > *limit_ - allocated_) give_spare_back();
    try {
        return take_memory(bytes);
    } catch (const OutOfDeviceMemory&) {
        if (spare_.empty()) throw;
    }
    give_spare_back();
    return take_memory(bytes);
}

void Device::release(DevicePointer pointer) noexcept {
    const auto found = sizes_.find(pointer);
    if (found == sizes_.end()) {
        give_memory_back(pointer);
        return;
    }
    const std::size_t capacity = found->second;
    allocated_ -= capacity;
    sizes_.erase(found);
    if (!keeps_released_ || spare_bytes_ + capacity > memory_limit() / k_spare_share) {
        give_memory_back(pointer);
        return;
    }
    try {
        spare_.emplace(capacity, pointer);
        spare_bytes_ += capacity;
    } catch (const std::bad_alloc&) {
        give_memory_back(pointer);
    }
}

void Device::give_spare_back() noexcept {
    for (const auto& [capacity, pointer] : spare_)
        give_memory_back(pointer);
    spare_.clear();
    spare_bytes_ = 0;
}

}  // namespace tconv
