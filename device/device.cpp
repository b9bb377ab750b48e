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
    const std::size_t most = bytes + bytes / k_loose_share + k_loose_bytes;
    auto best = spare_.end();
    for (auto block = spare_.begin(); block != spare_.end(); ++block) {
        const bool fits = block->bytes >= bytes && block->bytes <= most;
        if (fits && (best == spare_.end() || block->bytes < best->bytes)) best = block;
    }
    if (best == spare_.end() || (limit_ && best->bytes > *limit_ - allocated_)) return std::nullopt;
    const Block block = *best;
    spare_.erase(best);
    spare_bytes_ -= block.bytes;
    sizes_.emplace(block.pointer, block.bytes);
    allocated_ += block.bytes;
    return block.pointer;
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
    if (!keeps_released_ || !keep_spare({pointer, capacity})) give_memory_back(pointer);
}

// False where it is too large to wait.
bool Device::keep_spare(const Block& block) noexcept {
    const std::size_t most = memory_limit() / k_spare_share;
    if (block.bytes > most) return false;
    while (spare_bytes_ > most - block.bytes) {
        give_memory_back(spare_.front().pointer);
        spare_bytes_ -= spare_.front().bytes;
        spare_.erase(spare_.begin());
    }
    try {
        spare_.push_back(block);
    } catch (const std::bad_alloc&) {
        return false;
    }
    spare_bytes_ += block.bytes;
    return true;
}

void Device::give_spare_back() noexcept {
    for (const Block& block : spare_)
        give_memory_back(block.pointer);
    spare_.clear();
    spare_bytes_ = 0;
}

}  // namespace tconv
