#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "device/compiler.hpp"
#include "device/device.hpp"

namespace tconv {

struct EmulatorOptions {
    int workers = 0;         ///< processor threads that run blocks; 0: one per processor
    std::uint64_t seed = 1;  ///< order of the threads between barriers; every launch derives a new order from it
    std::int64_t shared_memory_per_block = 232448;  ///< limits that a launch is checked against; as on an H200
    int max_threads_per_block = 1024;
};

/// A device that runs the same kernel sources on the CPU: one fibre a CUDA thread, blocks over the processor's cores.
/// Its times are times of the emulation.
[[nodiscard]] std::unique_ptr<Device> make_emulator(const EmulatorOptions& options = {});

struct HostCompilerStatus {
    bool available = false;
    std::string version;  ///< first line of `c++ --version`
    std::string path;
    std::string reason;
};

/// Looks for the system's C++ compiler: TCONV_CXX, then CXX, then c++, g++, clang++ on the path. Never throws.
[[nodiscard]] HostCompilerStatus host_compiler_status();

/// Compiles kernel sources into shared objects for the emulator, kept by content in the user's private cache folder.
/// Compiles with AddressSanitizer and UBSan exactly when this binary was. Throws Error(unavailable) without a compiler.
[[nodiscard]] std::unique_ptr<Compiler> make_host_compiler();

/// For a process that is about to end: ends the compilers that run on its behalf, removes their files, and lets no
/// other one start.
void end_host_compilations();

}  // namespace tconv
