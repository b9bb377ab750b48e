#include "tuner/guarded_buffer.hpp"

#include "tuner/support_kernels.hpp"

namespace tconv {

GuardedBuffer::GuardedBuffer(Device& device, std::size_t bytes)
    : device_(device), bytes_(bytes), base_(device.allocate(bytes + 2 * k_guard_bytes)) {
    device_.fill(base_, k_poison, bytes_ + 2 * k_guard_bytes);
    device_.forbid_access(base_, k_guard_bytes);
    device_.forbid_access(address() + bytes_, k_guard_bytes);
}

GuardedBuffer::~GuardedBuffer() {
    device_.allow_access(base_, bytes_ + 2 * k_guard_bytes);
    device_.release(base_);
}

void GuardedBuffer::poison() {
    if (bytes_ > 0) device_.fill(address(), k_poison, bytes_);
}

std::uint64_t GuardedBuffer::damage(SupportKernels& support) {
    std::uint64_t changed = 0;
    for (const DevicePointer zone : {base_, address() + bytes_}) {
        device_.allow_access(zone, k_guard_bytes);
        changed += support.count_changed(zone, k_guard_bytes, k_poison);
        device_.forbid_access(zone, k_guard_bytes);
    }
    return changed;
}

}  // namespace tconv
