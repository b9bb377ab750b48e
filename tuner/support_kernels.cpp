#include "tuner/support_kernels.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "device/memory.hpp"
#include "kernel_sources/reference.hpp"

namespace tconv {
namespace {

/// The device-side struct of support.cu.
struct RawComparison {
    std::uint64_t relative_bits = 0;
    std::uint64_t absolute_bits = 0;
    std::uint64_t worst_index = 0;
    std::uint64_t bad_count = 0;
    std::uint64_t first_bad = ~std::uint64_t{0};
};

double to_number(std::uint64_t bits) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

LaunchGeometry filling_geometry(const DeviceInfo& device) {
    LaunchGeometry geometry;
    // On the emulator a thread costs more than its work: few threads, long strides.
    const bool emulated = device.kind == DeviceKind::emulator;
    geometry.grid = {emulated ? 4 : std::int64_t{device.multiprocessors} * 8, 1, 1};
    geometry.block = {emulated ? 32 : 256, 1, 1};
    return geometry;
}

std::unique_ptr<Module> load_file(Device& device, Builder& builder, const char* file,
                                  const std::vector<std::string>& kernels) {
    const CompileResult result = builder.build_file(file, kernels);
    if (!result.ok) throw Error(ErrorKind::compile, fmt::format("{} does not compile: {}", file, result.log));
    return device.load(result.code);
}

}  // namespace

std::string to_string(Distribution distribution) {
    switch (distribution) {
        case Distribution::normal:
            return "normal";
        case Distribution::uniform:
            return "uniform";
        case Distribution::integers:
            return "integers";
        case Distribution::wide:
            return "wide";
    }
    return "?";
}

SupportKernels::SupportKernels(Device& device, Builder& builder)
    : device_(device), geometry_(filling_geometry(device.info())) {
    std::vector<std::string> reference_kernels;
    std::vector<std::string> support_kernels{"tconv_count_differences", "tconv_count_changed", "tconv_copy",
                                             "tconv_multiply_add", "tconv_empty"};
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
        reference_kernels.push_back(reference_entry(type));
        reference_kernels.push_back(scaled_reference_entry(type));
        support_kernels.push_back(fmt::format("tconv_fill_{}", to_string(type)));
        support_kernels.push_back(fmt::format("tconv_compare_{}", to_string(type)));
    }
    support_ = load_file(device, builder, "support.cu", support_kernels);
    reference_ = load_file(device, builder, k_reference_file, reference_kernels);
}

template <class... Arguments>
void SupportKernels::run(const char* kernel, Arguments... arguments) {
    std::array<void*, sizeof...(Arguments)> addresses{static_cast<void*>(&arguments)...};
    device_.launch(*support_, kernel, geometry_, addresses.data(), nullptr);
}

void SupportKernels::fill_random(DataType type, DevicePointer data, std::int64_t count, Distribution distribution,
                                 std::uint64_t seed) {
    run(fmt::format("tconv_fill_{}", to_string(type)).c_str(), data, count, static_cast<int>(distribution), seed);
}

Comparison SupportKernels::compare(DataType type, DevicePointer output, DevicePointer reference, DevicePointer scale,
                                   std::int64_t count) {
    RawComparison raw;
    const DeviceMemory scratch(device_, sizeof raw);
    device_.copy_to_device(scratch.address(), &raw, sizeof raw);
    run(fmt::format("tconv_compare_{}", to_string(type)).c_str(), output, reference, scale, count, scratch.address());
    device_.copy_to_host(&raw, scratch.address(), sizeof raw);
    constexpr std::uint64_t index_bits = (std::uint64_t{1} << 40) - 1;
    return {to_number(raw.relative_bits), to_number(raw.absolute_bits),
            static_cast<std::int64_t>(raw.worst_index & index_bits), raw.bad_count,
            static_cast<std::int64_t>(raw.first_bad)};
}

template <class... Arguments>
std::uint64_t SupportKernels::count(const char* kernel, Arguments... arguments) {
    std::uint64_t found = 0;
    const DeviceMemory counter(device_, sizeof found);
    device_.copy_to_device(counter.address(), &found, sizeof found);
    run(kernel, arguments..., counter.address());
    device_.copy_to_host(&found, counter.address(), sizeof found);
    return found;
}

std::uint64_t SupportKernels::count_differences(DevicePointer first, DevicePointer second, std::size_t bytes) {
    return count("tconv_count_differences", first, second, static_cast<std::int64_t>(bytes));
}

std::uint64_t SupportKernels::count_changed(DevicePointer zone, std::size_t bytes, unsigned char value) {
    return count("tconv_count_changed", zone, static_cast<std::int64_t>(bytes), static_cast<int>(value));
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

void SupportKernels::copy(DevicePointer source, DevicePointer target, std::int64_t vectors) {
    run("tconv_copy", source, target, vectors);
}

void SupportKernels::multiply_add(DevicePointer sink, int rounds) {
    run("tconv_multiply_add", sink, rounds, 0.5F);
}

void SupportKernels::empty() {
    run("tconv_empty", 0);
}

std::int64_t SupportKernels::threads() const {
    return geometry_.grid[0] * geometry_.block[0];
}

}  // namespace tconv
