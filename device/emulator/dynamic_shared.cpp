#include "device/emulator/dynamic_shared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "device/emulator/sanitizer.hpp"

namespace tconv::emulator {
namespace {

constexpr std::align_val_t k_alignment{1024};
constexpr unsigned char k_poison = 0xff;
constexpr std::size_t k_before = sanitizer::enabled ? 0 : 1024;
constexpr std::size_t k_after = sanitizer::enabled ? 0 : 4096;

bool is_written(unsigned char byte) {
    return byte != k_poison;
}

}  // namespace

DynamicShared::~DynamicShared() {
    release();
}

void DynamicShared::release() {
    if (allocation_ != nullptr) ::operator delete(allocation_, k_alignment);
    allocation_ = nullptr;
    data_ = nullptr;
    bytes_ = 0;
}

void DynamicShared::resize(std::size_t bytes) {
    if (data_ != nullptr && bytes == bytes_) return;
    release();
    const std::size_t total = k_before + bytes + k_after;
    if (total == 0) return;
    allocation_ = static_cast<unsigned char*>(::operator new(total, k_alignment));
    data_ = allocation_ + k_before;
    bytes_ = bytes;
}

void DynamicShared::poison() {
    if (allocation_ != nullptr) std::memset(allocation_, k_poison, k_before + bytes_ + k_after);
}

std::string DynamicShared::damage() const {
    if constexpr (sanitizer::enabled) return {};
    const unsigned char* end = data_ + bytes_;
    const unsigned char* before = std::find_if(static_cast<const unsigned char*>(allocation_),
                                               static_cast<const unsigned char*>(data_), is_written);
    if (before != data_) {
        return fmt::format("wrote {} bytes before the beginning of its {} bytes of dynamic shared memory",
                           data_ - before, bytes_);
    }
    std::size_t past = k_after;
    while (past > 0 && !is_written(end[past - 1]))
        --past;
    if (past == 0) return {};
    return fmt::format("wrote up to {} bytes past the end of its {} bytes of dynamic shared memory", past, bytes_);
}

}  // namespace tconv::emulator
