#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "device/device.hpp"
#include "device/memory.hpp"
#include "tuner/builder.hpp"
#include "tuner/test_values.hpp"

namespace tconv {

/// What comparing an output with its reference finds.
struct Comparison {
    double relative = 0;  ///< see ErrorMeasure
    double absolute = 0;
    std::int64_t worst_index = 0;
    std::uint64_t bad_count = 0;  ///< NaN or infinity
    std::int64_t first_bad = 0;
    std::uint64_t inexact_count = 0;  ///< finite, and not the reference rounded once to the output's type
    std::int64_t first_inexact = 0;
};

/// The reference kernels and the small kernels that validation runs on the device (kernel_sources/support.cu).
class SupportKernels {
public:
    /// Compiles and loads them. Throws Error(compile).
    SupportKernels(Device& device, Builder& builder);

    void fill_random(DataType type, DevicePointer data, std::int64_t count, const TestValues& values,
                     std::uint64_t seed);
    [[nodiscard]] Comparison compare(DataType type, DevicePointer output, DevicePointer reference, DevicePointer scale,
                                     std::int64_t count);
    /// Elements that differ in any bit.
    [[nodiscard]] std::uint64_t count_differences(DataType type, DevicePointer first, DevicePointer second,
                                                  std::int64_t count);
    /// The largest difference of two outputs by the measure of errors; both are finite.
    [[nodiscard]] double spread(DataType type, DevicePointer first, DevicePointer second, DevicePointer reference,
                                DevicePointer scale, std::int64_t count);
    /// A tensor's address and number of elements.
    struct Span {
        DevicePointer data = 0;
        std::int64_t count = 0;
    };
    static constexpr std::size_t k_most_zones = 16;
    static constexpr std::size_t k_most_tensors = 4;
    /// A number for each of at most k_most_tensors tensors that changes with any of its bits.
    [[nodiscard]] std::vector<std::uint64_t> digests(DataType type, const std::vector<Span>& tensors);
    /// What memory holds after a launch.
    struct MemoryState {
        std::vector<std::uint64_t> changed;  ///< for each zone, how many of its bytes are not as they should be
        std::vector<std::uint64_t> digests;  ///< of each tensor: see `digests`
    };
    /// Of at most k_most_zones zones of `bytes` bytes that should be `value`, and of tensors, with one wait.
    [[nodiscard]] MemoryState memory_state(const std::vector<DevicePointer>& zones, std::size_t bytes,
                                           unsigned char value, DataType type, const std::vector<Span>& tensors);

    /// float64 results and float32 scales S of the whole problem.
    void scaled_reference(const Problem& problem, DevicePointer input, DevicePointer weight, DevicePointer bias,
                          DevicePointer reference, DevicePointer scale);
    /// The reference kernel's module, for timing it as a plan.
    [[nodiscard]] Module& reference_module() { return *reference_; }

private:
    template <class... Arguments>
    void run(const std::string& kernel, Arguments... arguments);
    void count_changed(const std::vector<DevicePointer>& zones, std::size_t bytes, unsigned char value);

    Device& device_;
    LaunchGeometry geometry_;  // fills the device; nearly every kernel here strides over its data
    DeviceMemory results_;     // what the kernels find, read back at once
    std::unique_ptr<Module> support_;
    std::unique_ptr<Module> reference_;
};

}  // namespace tconv
