#pragma once

#include <cstdint>
#include <memory>

#include "core/arithmetic.hpp"
#include "device/device.hpp"
#include "tuner/builder.hpp"

namespace tconv {

/// The kernels that show what a device can do at best (kernel_sources/ceilings.cu).
class CeilingKernels {
public:
    /// Compiles and loads them. Throws Error(compile).
    CeilingKernels(Device& device, Builder& builder);

    /// Copies `vectors` times 16 bytes.
    void copy(DevicePointer source, DevicePointer target, std::int64_t vectors);
    /// Multiplies and adds in `arithmetic`, writing nothing; `sink` has four bytes for each thread.
    void compute(Arithmetic arithmetic, DevicePointer sink, int rounds);
    void empty();

    /// False for TF32 and bf16 on the emulator and below compute capability 8.0.
    [[nodiscard]] bool can_compute(Arithmetic arithmetic) const;
    /// Floating-point operations of `compute`, an addition and a multiplication counted as two.
    [[nodiscard]] double operations(Arithmetic arithmetic, int rounds) const;

private:
    template <class... Arguments>
    void run(const char* kernel, const LaunchGeometry& geometry, Arguments... arguments);

    Device& device_;
    std::unique_ptr<Module> module_;
    LaunchGeometry vectors_;   // of the kernels that use no tensor core
    LaunchGeometry matrices_;  // as many blocks as run at once; none where there are no tensor cores
};

}  // namespace tconv
