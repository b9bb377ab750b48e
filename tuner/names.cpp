#include "tuner/names.hpp"

#include <algorithm>
#include <array>

#include "core/phases.hpp"

namespace tconv {
namespace {

constexpr std::array k_axes{"_d", "_h", "_w"};

void add_extents(NamedValues& values, const std::string& name, const Extents& extents) {
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
        values["problem." + name + k_axes[axis]] = extents[axis];
}

}  // namespace

const NamedValues& word_values() {
    static const NamedValues values = {
        {"f32", static_cast<std::int64_t>(DataType::f32)},   {"f16", static_cast<std::int64_t>(DataType::f16)},
        {"bf16", static_cast<std::int64_t>(DataType::bf16)}, {"nchw", static_cast<std::int64_t>(Layout::nchw)},
        {"nhwc", static_cast<std::int64_t>(Layout::nhwc)},
    };
    return values;
}

NamedValues problem_values(const Problem& described) {
    const Problem problem = with_lone_inputs_parted(described);
    NamedValues values = {
        {"problem.spatial_axes", problem.spatial_axes},
        {"problem.batch", problem.batch},
        {"problem.in_channels", problem.in_channels},
        {"problem.out_channels", problem.out_channels},
        {"problem.groups", problem.groups},
        {"problem.in_channels_per_group", problem.in_channels / problem.groups},
        {"problem.out_channels_per_group", problem.out_channels / problem.groups},
        {"problem.bias", problem.bias ? 1 : 0},
        {"problem.dtype", static_cast<std::int64_t>(problem.dtype)},
        {"problem.layout", static_cast<std::int64_t>(problem.layout)},
        {"problem.input_elements", input_elements(problem)},
        {"problem.weight_elements", weight_elements(problem)},
        {"problem.output_elements", output_elements(problem)},
    };
    add_extents(values, "input", problem.input);
    add_extents(values, "output", output_extents(problem));
    add_extents(values, "kernel", problem.kernel);
    add_extents(values, "stride", problem.stride);
    add_extents(values, "padding", problem.padding);
    add_extents(values, "output_padding", problem.output_padding);
    add_extents(values, "dilation", problem.dilation);
    add_extents(values, "phases", problem.stride);
    for (std::size_t axis = 0; axis < k_axes.size(); ++axis) {
        const std::int64_t kernel = problem.kernel[axis];
        const std::int64_t stride = problem.stride[axis];
        const std::int64_t dilation = problem.dilation[axis];
        values[std::string("problem.halo") + k_axes[axis]] = halo(kernel, stride, dilation);
        values[std::string("problem.max_taps") + k_axes[axis]] = max_taps(kernel, stride, dilation);
        values[std::string("problem.tapped_phases") + k_axes[axis]] =
            std::min(kernel, stride / tap_pattern(stride, dilation).divisor);
    }
    return values;
}

NamedValues device_values(const DeviceInfo& device) {
    return {
        {"device.is_emulator", device.kind == DeviceKind::emulator ? 1 : 0},
        {"device.compute_major", device.compute_major},
        {"device.compute_minor", device.compute_minor},
        {"device.compute_capability", 10 * device.compute_major + device.compute_minor},
        {"device.multiprocessors", device.multiprocessors},
        {"device.warp_size", device.warp_size},
        {"device.max_threads_per_block", device.max_threads_per_block},
        {"device.registers_per_multiprocessor", device.registers_per_multiprocessor},
        {"device.shared_memory_per_block", device.shared_memory_per_block},
        {"device.shared_memory_per_multiprocessor", device.shared_memory_per_multiprocessor},
        {"device.l2_bytes", device.l2_bytes},
        {"device.memory_bytes", device.memory_bytes},
    };
}

bool is_given_name(const std::string& name) {
    static const NamedValues problem = problem_values(Problem{});
    static const NamedValues device = device_values(DeviceInfo{});
    return problem.contains(name) || device.contains(name) || word_values().contains(name);
}

}  // namespace tconv
