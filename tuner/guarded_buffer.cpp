#include "tuner/guarded_buffer.hpp"

#include "tuner/support_kernels.hpp"

namespace tconv {

GuardedBuffer::GuardedBuffer(Device& device, std::size_t bytes)
    : device_(device), bytes_(bytes), memory_(device, bytes + 2 * k_guard_bytes) {
    device_.fill(memory_.address(), k_poison, bytes_ + 2 * k_guard_bytes);
    device_.forbid_access(memory_.address(), k_guard_bytes);
    device_.forbid_access(address() + bytes_, k_guard_bytes);
}

GuardedBuffer::~GuardedBuffer() {
    device_.allow_access(memory_.address(), bytes_ + 2 * k_guard_bytes);
}

void GuardedBuffer::poison() {
    if (bytes_ > 0) device_.fill(address(), k_poison, bytes_);
}

std::uint64_t GuardedBuffer::damage(SupportKernels& support) {
    std::uint64_t changed = 0;
    for (const DevicePointer zone : {memory_.address(), address() + bytes_}) {
        device_.allow_access(zone, k_guard_bytes);
        changed += support.count_changed(zone, k_guard_bytes, k_poison);
        device_.forbid_access(zone, k_guard_bytes);
    }
    return changed;
}

}  // namespace tconv
