#include "tuner/ceilings.hpp"

#include <algorithm>

#include "device/memory.hpp"
#include "tuner/ceiling_kernels.hpp"

namespace tconv {
namespace {

// Large beside the L2 and beside a launch: some milliseconds on any GPU. On the emulator just long enough for its
// clock.
constexpr std::size_t k_copy_bytes = std::size_t{1} << 30;
constexpr std::size_t k_emulated_copy_bytes = std::size_t{1} << 22;
constexpr int k_fma_rounds = 4000;
constexpr int k_emulated_fma_rounds = 20;
// An NVIDIA H200 takes 2 ms for them: no longer than a layer, so that a layer has the same clocks.
constexpr int k_matrix_rounds = 1000;

double rate(CeilingKernels& kernels, Timer& timer, Arithmetic arithmetic, DevicePointer sink, int rounds) {
    if (!kernels.can_compute(arithmetic)) return 0;
    const double milliseconds = timer.time([&] { kernels.compute(arithmetic, sink, rounds); }, 0).minimum;
    return kernels.operations(arithmetic, rounds) / (milliseconds / 1000);
}

}  // namespace

Ceilings measure_ceilings(Device& device, Builder& builder, Timer& timer) {
    const bool emulated = device.info().kind == DeviceKind::emulator;
    const std::size_t bytes = emulated ? k_emulated_copy_bytes : k_copy_bytes;
    CeilingKernels kernels(device, builder);
    const DeviceMemory source(device, bytes);
    const DeviceMemory target(device, bytes);
    device.fill(source.address(), 1, bytes);
    device.fill(target.address(), 1, bytes);
    const auto vectors = static_cast<std::int64_t>(bytes / 16);
    const double copy = timer.time([&] { kernels.copy(source.address(), target.address(), vectors); }, 0).minimum;

    Ceilings ceilings;
    ceilings.copy_bytes_per_second = 2.0 * static_cast<double>(bytes) / (copy / 1000);
    ceilings.fma_flops_per_second =
        rate(kernels, timer, Arithmetic::fp32, target.address(), emulated ? k_emulated_fma_rounds : k_fma_rounds);
    ceilings.tf32_flops_per_second = rate(kernels, timer, Arithmetic::tf32, target.address(), k_matrix_rounds);
    ceilings.bf16_flops_per_second = rate(kernels, timer, Arithmetic::bf16, target.address(), k_matrix_rounds);
    ceilings.empty_launch_milliseconds = timer.time([&] { kernels.empty(); }, 0).median;
    return ceilings;
}

Arithmetic fastest_arithmetic(DataType dtype, double tolerance, bool strict) {
    constexpr double k_tf32_tolerance = 1e-3;  // TF32 itself needs about 3e-4
    if (strict) return Arithmetic::fp32;
    if (dtype != DataType::f32) return Arithmetic::bf16;
    return tolerance >= k_tf32_tolerance ? Arithmetic::tf32 : Arithmetic::split_bf16;
}

double arithmetic_rate(const Ceilings& ceilings, Arithmetic arithmetic) {
    switch (arithmetic) {
        case Arithmetic::fp32:
            return ceilings.fma_flops_per_second;
        case Arithmetic::tf32:
            return ceilings.tf32_flops_per_second;
        case Arithmetic::split_bf16:
            if (ceilings.bf16_flops_per_second > 0) return ceilings.bf16_flops_per_second / 3;
            if (ceilings.tf32_flops_per_second > 0) return ceilings.tf32_flops_per_second / 3;
            return ceilings.fma_flops_per_second;
        case Arithmetic::bf16:
            return ceilings.bf16_flops_per_second;
    }
    return 0;
}

double limit_milliseconds(const Problem& problem, const Ceilings& ceilings, Arithmetic arithmetic) {
    const auto milliseconds = [](double amount, double a_second) {
        return a_second > 0 ? amount / a_second * 1000 : 0;
    };
    return std::max({milliseconds(minimum_bytes(problem), ceilings.copy_bytes_per_second),
                     milliseconds(flops(problem), arithmetic_rate(ceilings, arithmetic)),
                     ceilings.empty_launch_milliseconds});
}

}  // namespace tconv
