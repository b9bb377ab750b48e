#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "device/emulator/emulator_abi.hpp"

namespace tconv::emulator {

/// A kernel entry of a loaded copy: unpacks the arguments and runs one CUDA thread.
using Entry = void (*)(void** arguments);

/// The bytes of a shared object that the host compiler made, and where its static shared memory is.
class CodeImage {
public:
    /// `path` as in CompiledCode. Throws Error(device) unless it is whole and in a folder of this user alone.
    explicit CodeImage(const std::string& path);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t static_shared_offset() const { return static_shared_offset_; }
    [[nodiscard]] std::uint64_t static_shared_bytes() const { return static_shared_bytes_; }

private:
    void find_static_shared();

    std::string path_;
    std::string bytes_;
    std::uint64_t static_shared_offset_ = 0;
    std::uint64_t static_shared_bytes_ = 0;
};

/// One loaded copy of an image with variables of its own, so that each processor thread has its own threadIdx and its
/// own `__shared__` objects, which are plain statics.
class CodeCopy {
public:
    /// Throws Error(device) when the loader refuses it.
    explicit CodeCopy(const CodeImage& image);
    CodeCopy(const CodeCopy&) = delete;
    CodeCopy& operator=(const CodeCopy&) = delete;
    ~CodeCopy();

    [[nodiscard]] const tconv_emulator::Interface& interface() const { return interface_; }
    /// Throws Error(device) when the code has no such kernel.
    [[nodiscard]] Entry entry(const std::string& kernel) const;
    /// The beginning of its static shared memory, and where in that `address` is; nothing where it is outside.
    [[nodiscard]] unsigned char* static_shared() const { return static_shared_; }
    [[nodiscard]] std::optional<std::size_t> static_shared_offset_of(const unsigned char* address) const;
    /// Sets all static shared memory to 0xff.
    void poison_static_shared();

private:
    int file_ = -1;
    void* handle_ = nullptr;
    const CodeImage& image_;
    unsigned char* static_shared_ = nullptr;
    tconv_emulator::Interface interface_{};
};

}  // namespace tconv::emulator
