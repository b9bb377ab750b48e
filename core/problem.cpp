#include "core/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.hpp"

namespace tconv {
namespace {

constexpr std::array<const char*, 3> k_axis_names{"depth", "height", "width"};

void require_at_least(const char* field, std::int64_t value, std::int64_t minimum) {
    if (value < minimum) reject(fmt::format("{} ({}) must be at least {}", field, value, minimum));
}

void require_at_least(const Problem& p, const char* field, const Extents& extents, std::int64_t minimum) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (extents[axis] >= minimum) continue;
        reject(fmt::format("{} ({}) must be at least {} on every axis; {} has {}", field, join_extents(p, extents),
                           minimum, k_axis_names[axis], extents[axis]));
    }
}

void require_neutral_leading_axes(const Problem& p) {
    for (std::size_t axis = 0; axis + static_cast<std::size_t>(p.spatial_axes) < 3; ++axis) {
        if (p.input[axis] != 1 || p.kernel[axis] != 1 || p.stride[axis] != 1 || p.padding[axis] != 0 ||
            p.output_padding[axis] != 0 || p.dilation[axis] != 1) {
            reject(fmt::format("{} must be neutral (extent 1, no padding) in a problem of {} spatial axes",
                               k_axis_names[axis], p.spatial_axes));
        }
    }
}

std::int64_t product(const char* what, std::initializer_list<std::int64_t> factors) {
    std::int64_t result = 1;
    for (const std::int64_t factor : factors) {
        if (__builtin_mul_overflow(result, factor, &result)) {
            reject(fmt::format("{} has more elements than 64 bits can count", what));
        }
    }
    return result;
}

std::int64_t bytes_of(const char* what, std::int64_t elements, DataType type) {
    return product(what, {elements, size_in_bytes(type)});
}

/// Output extent of one axis, or nothing where an intermediate value leaves 64 bits.
bool checked_output_extent(const Problem& p, std::size_t axis, std::int64_t& result) {
    std::int64_t spread = 0;
    std::int64_t reach = 0;
    std::int64_t cut = 0;
    return !(__builtin_mul_overflow(p.input[axis] - 1, p.stride[axis], &spread) ||
             __builtin_mul_overflow(p.kernel[axis] - 1, p.dilation[axis], &reach) ||
             __builtin_mul_overflow(p.padding[axis], std::int64_t{2}, &cut) ||
             __builtin_add_overflow(spread, reach, &result) || __builtin_sub_overflow(result, cut, &result) ||
             __builtin_add_overflow(result, p.output_padding[axis], &result) ||
             __builtin_add_overflow(result, std::int64_t{1}, &result));
}

void validate_output(const Problem& p) {
    Extents output{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (p.output_padding[axis] >= std::max(p.stride[axis], p.dilation[axis])) {
            reject(fmt::format("output_padding ({}) must be smaller than stride ({}) or dilation ({}) on its axis ({})",
                               p.output_padding[axis], p.stride[axis], p.dilation[axis], k_axis_names[axis]));
        }
        if (!checked_output_extent(p, axis, output[axis])) {
            reject(fmt::format("output {} is larger than 64 bits can count", k_axis_names[axis]));
        }
        if (output[axis] < 1) {
            reject(
                fmt::format("output {} ({}) must be at least 1: (input-1)*stride - 2*padding + dilation*(kernel-1) + "
                            "output_padding + 1",
                            k_axis_names[axis], output[axis]));
        }
    }
    (void)bytes_of("output", product("output", {p.batch, p.out_channels, output[0], output[1], output[2]}), p.dtype);
}

/// Input indices that a tap reaches, summed over the taps of one axis: pairs (output, tap) with the input inside the
/// tensor.
double axis_pairs(const Problem& p, std::size_t axis, std::int64_t output) {
    double pairs = 0;
    for (std::int64_t k = 0; k < p.kernel[axis]; ++k) {
        // Output o = i*stride + k*dilation - padding must lie in [0, output).
        const std::int64_t shift = k * p.dilation[axis] - p.padding[axis];
        const std::int64_t first = shift >= 0 ? 0 : (-shift + p.stride[axis] - 1) / p.stride[axis];
        const std::int64_t room = output - 1 - shift;
        const std::int64_t last = room < 0 ? -1 : std::min(p.input[axis] - 1, room / p.stride[axis]);
        if (last >= first) pairs += static_cast<double>(last - first + 1);
    }
    return pairs;
}

}  // namespace

void validate(const Problem& p) {
    if (p.spatial_axes < 1 || p.spatial_axes > 3)
        reject(fmt::format("spatial_axes ({}) must be 1, 2 or 3", p.spatial_axes));
    require_at_least("batch", p.batch, 0);
    if (p.batch > std::numeric_limits<std::int32_t>::max()) {
        reject(fmt::format("batch ({}) must be at most {}", p.batch, std::numeric_limits<std::int32_t>::max()));
    }
    require_at_least("in_channels", p.in_channels, 1);
    require_at_least("out_channels", p.out_channels, 1);
    require_at_least("groups", p.groups, 1);
    if (p.in_channels % p.groups != 0) {
        reject(fmt::format("groups ({}) must divide in_channels ({})", p.groups, p.in_channels));
    }
    if (p.out_channels % p.groups != 0) {
        reject(fmt::format("groups ({}) must divide out_channels ({})", p.groups, p.out_channels));
    }
    require_at_least(p, "input", p.input, 1);
    require_at_least(p, "kernel", p.kernel, 1);
    require_at_least(p, "stride", p.stride, 1);
    require_at_least(p, "padding", p.padding, 0);
    require_at_least(p, "output_padding", p.output_padding, 0);
    require_at_least(p, "dilation", p.dilation, 1);
    require_neutral_leading_axes(p);
    (void)bytes_of("input", product("input", {p.batch, p.in_channels, p.input[0], p.input[1], p.input[2]}), p.dtype);
    (void)bytes_of("weight",
                   product("weight", {p.in_channels, p.out_channels / p.groups, p.kernel[0], p.kernel[1], p.kernel[2]}),
                   p.dtype);
    validate_output(p);
}

Extents output_extents(const Problem& p) {
    Extents output{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        output[axis] = (p.input[axis] - 1) * p.stride[axis] - 2 * p.padding[axis] +
                       p.dilation[axis] * (p.kernel[axis] - 1) + p.output_padding[axis] + 1;
    }
    return output;
}

Problem with_lone_inputs_parted(const Problem& problem) {
    // What kernels can join or keep apart.
    constexpr std::int64_t k_longest = 16;
    constexpr double k_most_phases = 64;
    Problem p = problem;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t reach = p.dilation[axis] * (p.kernel[axis] - 1) + 1;
        if (p.input[axis] != 1 || reach <= p.stride[axis] || reach > k_longest) continue;
        Problem parted = p;
        parted.stride[axis] = reach;
        const Extents& stride = parted.stride;
        const double phases =
            static_cast<double>(stride[0]) * static_cast<double>(stride[1]) * static_cast<double>(stride[2]);
        if (phases <= k_most_phases) p = parted;
    }
    return p;
}

std::int64_t input_elements(const Problem& p) {
    return p.batch * p.in_channels * p.input[0] * p.input[1] * p.input[2];
}

std::int64_t weight_elements(const Problem& p) {
    return p.in_channels * (p.out_channels / p.groups) * p.kernel[0] * p.kernel[1] * p.kernel[2];
}

std::int64_t bias_elements(const Problem& p) {
    return p.bias ? p.out_channels : 0;
}

std::int64_t output_elements(const Problem& p) {
    const Extents output = output_extents(p);
    return p.batch * p.out_channels * output[0] * output[1] * output[2];
}

std::int64_t weight_offset(const Problem& p, std::int64_t in_channel, std::int64_t out_channel, std::int64_t tap) {
    const std::int64_t out_group = p.out_channels / p.groups;
    const std::int64_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
    const std::int64_t within = p.layout == Layout::nchw ? out_channel * taps + tap : tap * out_group + out_channel;
    return in_channel * out_group * taps + within;
}

double flops(const Problem& p) {
    const Extents output = output_extents(p);
    double pairs = 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
        pairs *= axis_pairs(p, axis, output[axis]);
    return 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.in_channels) *
           static_cast<double>(p.out_channels / p.groups) * pairs;
}

double minimum_bytes(const Problem& p) {
    const auto elements = static_cast<double>(input_elements(p)) + static_cast<double>(weight_elements(p)) +
                          static_cast<double>(bias_elements(p)) + static_cast<double>(output_elements(p));
    return elements * static_cast<double>(size_in_bytes(p.dtype));
}

std::string join_extents(const Problem& p, const Extents& extents) {
    const std::size_t axes = p.spatial_axes >= 1 && p.spatial_axes <= 3 ? static_cast<std::size_t>(p.spatial_axes) : 3;
    return fmt::format("{}", fmt::join(extents.begin() + static_cast<std::ptrdiff_t>(3 - axes), extents.end(), "x"));
}

}  // namespace tconv
