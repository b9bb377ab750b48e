#include "device/emulator/pending_copies.hpp"

#include <cstring>

#include "device/emulator/sanitizer.hpp"

namespace tconv::emulator {
namespace {

/// Lets AddressSanitizer see both ends now, while the stack still shows the line that started the copy.
void touch(const void* address, int bytes) {
    const volatile char* first = static_cast<const char*>(address);
    static_cast<void>(first[0]);
    static_cast<void>(first[bytes - 1]);
}

}  // namespace

void PendingCopies::start(void* destination, const void* source, int bytes) {
    if constexpr (sanitizer::enabled) {
        touch(destination, bytes);
        if (source != nullptr) touch(source, bytes);
    }
    copies_.push_back({destination, source, bytes});
}

void PendingCopies::commit() {
    group_ends_.push_back(copies_.size());
}

void PendingCopies::wait(int groups) {
    if (group_ends_.size() <= static_cast<std::size_t>(groups)) return;
    const std::size_t complete = group_ends_.size() - static_cast<std::size_t>(groups);
    const std::size_t count = group_ends_[complete - 1];
    for (std::size_t i = 0; i < count; ++i) {
        const Copy& copy = copies_[i];
        if (copy.source != nullptr) {
            std::memcpy(copy.destination, copy.source, static_cast<std::size_t>(copy.bytes));
        } else {
            std::memset(copy.destination, 0, static_cast<std::size_t>(copy.bytes));
        }
    }
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(count));
    group_ends_.erase(group_ends_.begin(), group_ends_.begin() + static_cast<std::ptrdiff_t>(complete));
    for (std::size_t& end : group_ends_)
        end -= count;
}

void PendingCopies::clear() {
    copies_.clear();
    group_ends_.clear();
}

}  // namespace tconv::emulator
