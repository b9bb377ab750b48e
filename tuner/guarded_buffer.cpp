#include "tuner/guarded_buffer.hpp"

#include "tuner/support_kernels.hpp"

namespace tconv {

GuardedBuffer::GuardedBuffer(Device& device, std::size_t bytes)
    : device_(device), bytes_(bytes), memory_(device, bytes + 2 * k_guard_bytes) {
    device_.fill(memory_.address(), k_poison, bytes_ + 2 * k_guard_bytes);
    forbid_zones();
}

GuardedBuffer::~GuardedBuffer() {
    device_.allow_access(memory_.address(), bytes_ + 2 * k_guard_bytes);
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

std::vector<std::uint64_t> damage_around(const std::vector<GuardedBuffer*>& buffers, SupportKernels& support) {
    std::vector<DevicePointer> zones;
    for (GuardedBuffer* buffer : buffers) {
        buffer->allow_zones();
        for (const DevicePointer zone : buffer->zones())
            zones.push_back(zone);
    }
    const auto changed = support.count_changed(zones, GuardedBuffer::k_guard_bytes, GuardedBuffer::k_poison);
    std::vector<std::uint64_t> damages;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        buffers[i]->forbid_zones();
        damages.push_back(changed[2 * i] + changed[2 * i + 1]);
    }
    return damages;
}

}  // namespace tconv
