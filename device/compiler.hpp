#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace tconv {

/// One self-contained CUDA C++ translation unit (no includes left) and what to make of it.
struct CompileRequest {
    std::string name;  ///< for messages: "direct.cu"
    std::string source;
    std::vector<std::string> kernels;  ///< extern "C" entry names
    std::string architecture;          ///< "sm_90a"; ignored by the emulator's compiler
    std::vector<std::string> options;  ///< added to the compiler's own, one string each
};

/// Why there is no code.
enum class CompileFailure {
    refused,    ///< the compiler does not take the source
    crashed,    ///< the compiler ended its process
    timed_out,  ///< the compiler took longer than its limit
};

struct CompileResult {
    bool ok = false;
    CompileFailure failure = CompileFailure::refused;  ///< where not ok
    CompiledCode code;
    std::string log;  ///< the compiler's messages
    double milliseconds = 0;
};

/// Source to machine code. Implemented by NVRTC and by the system's C++ compiler (for the emulator). Thread-safe.
class Compiler {
public:
    Compiler() = default;
    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;
    virtual ~Compiler() = default;

    /// Name and version, part of the key of cached code: "NVRTC 13.0".
    [[nodiscard]] virtual std::string version() const = 0;

    /// Compiles; a refused source is a result with ok = false, a compiler that cannot run throws Error(compile).
    [[nodiscard]] virtual CompileResult compile(const CompileRequest& request) = 0;
};

}  // namespace tconv
