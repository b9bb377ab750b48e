#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "device/device.hpp"
#include "device/memory.hpp"
#include "tuner/builder.hpp"

namespace tconv {

/// Random inputs; the numbers are those of support.cu.
enum class Distribution : int {
    normal = 0,
    uniform = 1,   ///< [0, 1)
    integers = 2,  ///< -8 to 8: fp32 sums of up to 2^18 products are exact
    wide = 3,      ///< magnitudes over six decades, both signs
};

[[nodiscard]] std::string to_string(Distribution distribution);

/// What comparing an output with its reference finds.
struct Comparison {
    double relative = 0;  ///< max |out - ref| / (|ref| + S)
    double absolute = 0;
    std::int64_t worst_index = 0;
    std::uint64_t bad_count = 0;  ///< NaN or infinity
    std::int64_t first_bad = 0;
};

/// The reference kernels and the small kernels that validation runs on the device (kernel_sources/support.cu).
class SupportKernels {
public:
    /// Compiles and loads them. Throws Error(compile).
    SupportKernels(Device& device, Builder& builder);

    void fill_random(DataType type, DevicePointer data, std::int64_t count, Distribution distribution,
                     std::uint64_t seed);
    [[nodiscard]] Comparison compare(DataType type, DevicePointer output, DevicePointer reference, DevicePointer scale,
                                     std::int64_t count);
    /// 4-byte words that differ between two buffers.
    [[nodiscard]] std::uint64_t count_differences(DevicePointer first, DevicePointer second, std::size_t bytes);
    static constexpr std::size_t k_most_zones = 16;
    /// For each of at most k_most_zones zones of `bytes` bytes, how many of them are not `value`.
    [[nodiscard]] std::vector<std::uint64_t> count_changed(const std::vector<DevicePointer>& zones, std::size_t bytes,
                                                           unsigned char value);

    /// float64 results and float32 scales S of the whole problem.
    void scaled_reference(const Problem& problem, DevicePointer input, DevicePointer weight, DevicePointer bias,
                          DevicePointer reference, DevicePointer scale);
    /// The reference kernel's module, for timing it as a plan.
    [[nodiscard]] Module& reference_module() { return *reference_; }

private:
    template <class... Arguments>
    void run(const char* kernel, Arguments... arguments);

    Device& device_;
    LaunchGeometry geometry_;  // fills the device; nearly every kernel here strides over its data
    DeviceMemory results_;     // what the kernels find, read back at once
    std::unique_ptr<Module> support_;
    std::unique_ptr<Module> reference_;
};

}  // namespace tconv
