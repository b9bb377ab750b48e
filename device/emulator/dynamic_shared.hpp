#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tconv::emulator {

/// A block's dynamic shared memory of exactly the asked size. Under AddressSanitizer it is a heap block of that size,
/// so that any access outside is reported; otherwise marked bytes lie before and after it, which are looked at after
/// each block.
class DynamicShared {
public:
    DynamicShared() = default;
    DynamicShared(const DynamicShared&) = delete;
    DynamicShared& operator=(const DynamicShared&) = delete;
    ~DynamicShared();

    void resize(std::size_t bytes);
    /// Aligned to 1024 bytes; under AddressSanitizer null where the size is 0.
    [[nodiscard]] void* data() const { return data_; }
    /// Where in it `address` is; nothing where it is outside.
    [[nodiscard]] std::optional<std::size_t> offset_of(const unsigned char* address) const {
        if (std::less<>{}(address, data_) || !std::less<>{}(address, data_ + bytes_)) return std::nullopt;
        return static_cast<std::size_t>(address - data_);
    }
    /// Sets all bytes, and the marks, to 0xff: a float that is read before it is written is a NaN.
    void poison();
    /// What was written outside, as the end of a sentence; empty when nothing was.
    [[nodiscard]] std::string damage() const;

private:
    void release();

    unsigned char* allocation_ = nullptr;
    unsigned char* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace tconv::emulator
