#include "tuner/support_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "kernel_sources/reference.hpp"
#include "tuner/device_kernels.hpp"

namespace tconv {
namespace {

/// The device-side struct of support.cu.
struct RawComparison {
    std::uint64_t relative_bits = 0;
    std::uint64_t absolute_bits = 0;
    std::uint64_t worst_index = 0;
    std::uint64_t bad_count = 0;
    std::uint64_t first_bad = ~std::uint64_t{0};
    std::uint64_t inexact_count = 0;
    std::uint64_t first_inexact = ~std::uint64_t{0};
};

constexpr std::size_t k_result_bytes =
    (SupportKernels::k_most_zones + SupportKernels::k_most_tensors) * sizeof(std::uint64_t);
static_assert(sizeof(RawComparison) <= k_result_bytes, "the results' memory holds a comparison");

double to_number(std::uint64_t bits) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace

SupportKernels::SupportKernels(Device& device, Builder& builder)
    : device_(device), geometry_(filling_geometry(device.info())), results_(device, k_result_bytes) {
    std::vector<std::string> reference_kernels;
    std::vector<std::string> support_kernels{"tconv_count_changed", "tconv_count_differences_2",
                                             "tconv_count_differences_4", "tconv_digest_2", "tconv_digest_4"};
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
        reference_kernels.push_back(reference_entry(type));
        reference_kernels.push_back(scaled_reference_entry(type));
        for (const char* kernel : {"fill", "compare", "spread"})
            support_kernels.push_back(fmt::format("tconv_{}_{}", kernel, to_string(type)));
    }
    support_ = load_kernel_file(device, builder, "support.cu", support_kernels);
    reference_ = load_kernel_file(device, builder, k_reference_file, reference_kernels);
}

template <class... Arguments>
void SupportKernels::run(const std::string& kernel, Arguments... arguments) {
    std::array<void*, sizeof...(Arguments)> addresses{static_cast<void*>(&arguments)...};
    device_.launch(*support_, kernel, geometry_, addresses.data(), nullptr);
}

void SupportKernels::fill_random(DataType type, DevicePointer data, std::int64_t count, const TestValues& values,
                                 std::uint64_t seed) {
    run(fmt::format("tconv_fill_{}", to_string(type)), data, count, values, seed);
}

Comparison SupportKernels::compare(DataType type, DevicePointer output, DevicePointer reference, DevicePointer scale,
                                   std::int64_t count) {
    RawComparison raw;
    device_.copy_to_device(results_.address(), &raw, sizeof raw);
    run(fmt::format("tconv_compare_{}", to_string(type)), output, reference, scale, count, results_.address());
    device_.copy_to_host(&raw, results_.address(), sizeof raw);
    constexpr std::uint64_t index_bits = (std::uint64_t{1} << 40) - 1;
    return {to_number(raw.relative_bits),
            to_number(raw.absolute_bits),
            static_cast<std::int64_t>(raw.worst_index & index_bits),
            raw.bad_count,
            static_cast<std::int64_t>(raw.first_bad),
            raw.inexact_count,
            static_cast<std::int64_t>(raw.first_inexact)};
}

std::uint64_t SupportKernels::count_differences(DataType type, DevicePointer first, DevicePointer second,
                                                std::int64_t count) {
    std::uint64_t found = 0;
    device_.fill(results_.address(), 0, sizeof found);
    run(fmt::format("tconv_count_differences_{}", size_in_bytes(type)), first, second, count, results_.address());
    device_.copy_to_host(&found, results_.address(), sizeof found);
    return found;
}

double SupportKernels::spread(DataType type, DevicePointer first, DevicePointer second, DevicePointer reference,
                              DevicePointer scale, std::int64_t count) {
    std::uint64_t found = 0;
    device_.fill(results_.address(), 0, sizeof found);
    run(fmt::format("tconv_spread_{}", to_string(type)), first, second, reference, scale, count, results_.address());
    device_.copy_to_host(&found, results_.address(), sizeof found);
    return to_number(found);
}

std::vector<std::uint64_t> SupportKernels::digests(DataType type, const std::vector<Span>& tensors) {
    return memory_state({}, 0, 0, type, tensors).digests;
}

SupportKernels::MemoryState SupportKernels::memory_state(const std::vector<DevicePointer>& zones, std::size_t bytes,
                                                         unsigned char value, DataType type,
                                                         const std::vector<Span>& tensors) {
    assert(zones.size() <= k_most_zones && tensors.size() <= k_most_tensors);
    std::vector<std::uint64_t> found(zones.size() + tensors.size());
    const std::size_t found_bytes = found.size() * sizeof found[0];
    device_.fill(results_.address(), 0, found_bytes);
    if (!zones.empty()) count_changed(zones, bytes, value);
    const std::string kernel = fmt::format("tconv_digest_{}", size_in_bytes(type));
    for (std::size_t i = 0; i < tensors.size(); ++i)
        run(kernel, tensors[i].data, tensors[i].count, results_.address() + (zones.size() + i) * sizeof found[0]);
    device_.copy_to_host(found.data(), results_.address(), found_bytes);
    const auto middle = found.begin() + static_cast<std::ptrdiff_t>(zones.size());
    return {{found.begin(), middle}, {middle, found.end()}};
}

// Into the first of the results.
void SupportKernels::count_changed(const std::vector<DevicePointer>& zones, std::size_t bytes, unsigned char value) {
    std::array<DevicePointer, k_most_zones> starts{};
    std::copy(zones.begin(), zones.end(), starts.begin());
    auto size = static_cast<std::int64_t>(bytes);
    int expected = value;
    DevicePointer counters = results_.address();
    std::array<void*, 4> arguments{&starts, &size, &expected, &counters};
    LaunchGeometry one_block_a_zone = geometry_;
    one_block_a_zone.grid = {static_cast<std::int64_t>(zones.size()), 1, 1};
    device_.launch(*support_, "tconv_count_changed", one_block_a_zone, arguments.data(), nullptr);
}

void SupportKernels::scaled_reference(const Problem& problem, DevicePointer input, DevicePointer weight,
                                      DevicePointer bias, DevicePointer reference, DevicePointer scale) {
    std::vector<std::int64_t> shape = reference_shape(problem);
    int batch = static_cast<int>(problem.batch);
    std::array<void*, 7> arguments{&input, &weight, &bias, &reference, &scale, shape.data(), &batch};
    const Launch launch = reference_plan(problem).launches.front();
    device_.launch(*reference_, scaled_reference_entry(problem.dtype),
                   {grid_for(launch, problem.batch), launch.block, 0}, arguments.data(), nullptr);
}

}  // namespace tconv
