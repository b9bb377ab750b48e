#include "tuner/guarded_buffer.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_room = 2 * static_cast<std::size_t>(k_most_alignment);

}  // namespace

GuardedBuffer::GuardedBuffer(Device& device, std::size_t bytes)
    : device_(device), bytes_(bytes), memory_(device, bytes + 2 * k_guard_bytes + k_room) {
    place(k_most_alignment);
}

GuardedBuffer::~GuardedBuffer() {
    device_.allow_access(memory_.address(), whole_bytes());
}

std::size_t GuardedBuffer::whole_bytes() const {
    return bytes_ + 2 * k_guard_bytes + k_room;
}

void GuardedBuffer::place(std::int64_t alignment) {
    const auto step = static_cast<DevicePointer>(alignment);
    const DevicePointer first = memory_.address() + k_guard_bytes;
    address_ = first + (step - first % (2 * step) + 2 * step) % (2 * step);
    device_.allow_access(memory_.address(), whole_bytes());
    device_.fill(memory_.address(), k_poison, whole_bytes());
    forbid_zones();
}

void GuardedBuffer::poison() {
    if (bytes_ > 0) device_.fill(address(), k_poison, bytes_);
}

void GuardedBuffer::allow_zones() {
    for (const DevicePointer zone : zones())
        device_.allow_access(zone, k_guard_bytes);
}

void GuardedBuffer::forbid_zones() {
    for (const DevicePointer zone : zones())
        device_.forbid_access(zone, k_guard_bytes);
}

void GuardedBuffer::restore_zones() {
    allow_zones();
    for (const DevicePointer zone : zones())
        device_.fill(zone, k_poison, k_guard_bytes);
    forbid_zones();
}

std::vector<DevicePointer> open_zones(const std::vector<GuardedBuffer*>& buffers) {
    std::vector<DevicePointer> zones;
    for (GuardedBuffer* buffer : buffers) {
        buffer->allow_zones();
        for (const DevicePointer zone : buffer->zones())
            zones.push_back(zone);
    }
    return zones;
}

std::vector<std::uint64_t> close_zones(const std::vector<GuardedBuffer*>& buffers,
                                       const std::vector<std::uint64_t>& changed) {
    std::vector<std::uint64_t> damages;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        buffers[i]->forbid_zones();
        damages.push_back(changed[2 * i] + changed[2 * i + 1]);
        // What one candidate spoilt is not the next one's fault.
        if (damages.back() > 0) buffers[i]->restore_zones();
    }
    return damages;
}

}  // namespace tconv
