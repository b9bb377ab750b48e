#include "tuner/ceilings.hpp"

#include <algorithm>

#include "device/memory.hpp"

namespace tconv {
Ceilings measure_ceilings(Device& device, SupportKernels& support, Timer& timer) {
    const bool emulated = device.info().kind == DeviceKind::emulator;
    // Large beside the L2 and beside a launch; on the emulator just long enough for its clock.
    const std::size_t bytes = emulated ? std::size_t{1} << 22 : std::size_t{1} << 30;
    const int rounds = emulated ? 20 : 4000;
    constexpr double operations_a_round = 2.0 * 8 * 16;

    const DeviceMemory source(device, bytes);
    const DeviceMemory target(device, bytes);
    device.fill(source.address(), 1, bytes);
    device.fill(target.address(), 1, bytes);
    const double copy =
        timer.time([&] { support.copy(source.address(), target.address(), static_cast<std::int64_t>(bytes / 16)); }, 0)
            .minimum;
    const double arithmetic = timer.time([&] { support.multiply_add(target.address(), rounds); }, 0).minimum;
    const double empty = timer.time([&] { support.empty(); }, 0).median;

    Ceilings ceilings;
    ceilings.copy_bytes_per_second = 2.0 * static_cast<double>(bytes) / (copy / 1000);
    ceilings.fma_flops_per_second =
        operations_a_round * rounds * static_cast<double>(support.threads()) / (arithmetic / 1000);
    ceilings.empty_launch_milliseconds = empty;
    return ceilings;
}

double limit_milliseconds(const Problem& problem, const Ceilings& ceilings) {
    const double bytes = minimum_bytes(problem) / ceilings.copy_bytes_per_second * 1000;
    const double arithmetic = flops(problem) / ceilings.fma_flops_per_second * 1000;
    return std::max({bytes, arithmetic, ceilings.empty_launch_milliseconds});
}

}  // namespace tconv
