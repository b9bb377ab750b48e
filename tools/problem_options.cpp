#include "tools/problem_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/error.hpp"
#include "tools/format.hpp"
#include "tools/values.hpp"

namespace tconv {
namespace {

/// Shape of a tensor flag: two leading numbers (batch and channels, or channels) and one to three axes.
std::vector<std::int64_t> parse_shape(const char* flag, const std::optional<std::string>& text, const char* form) {
    if (!text) reject(fmt::format("{} is missing: it must be {}", flag, form));
    std::vector<std::int64_t> shape = parse_integers(flag, *text);
    if (shape.size() < 3 || shape.size() > 5) {
        reject(fmt::format("{} ({}) must be {} with 1, 2 or 3 axes: 3 to 5 numbers, not {}", flag, shown(*text), form,
                           shape.size()));
    }
    return shape;
}

/// The last numbers of a shape as extents; leading axes that the user does not see are 1.
Extents trailing_extents(const std::vector<std::int64_t>& shape) {
    Extents extents{1, 1, 1};
    std::copy(shape.begin() + 2, shape.end(), extents.end() - static_cast<std::ptrdiff_t>(shape.size() - 2));
    return extents;
}

Extents parse_axes(const char* flag, const std::optional<std::string>& text, int axes, std::int64_t neutral) {
    Extents extents{neutral, neutral, neutral};
    if (!text) return extents;
    const std::vector<std::int64_t> values = parse_integers(flag, *text);
    if (values.size() != 1 && values.size() != static_cast<std::size_t>(axes)) {
        reject(fmt::format("{} ({}) must be one number for all axes or one for each of the {} axes of --input, not {}",
                           flag, shown(*text), axes, values.size()));
    }
    for (int axis = 0; axis < axes; ++axis) {
        const std::size_t index = values.size() == 1 ? 0 : static_cast<std::size_t>(axis);
        extents[3 - static_cast<std::size_t>(axes - axis)] = values[index];
    }
    return extents;
}

/// The output padding that gives the output the size asked for: sizes of the axes, or the whole shape as frameworks
/// print it.
Extents padding_for_size(const std::string& text, const Problem& p) {
    const std::vector<std::int64_t> sizes = parse_integers("--output-size", text);
    const auto axes = static_cast<std::size_t>(p.spatial_axes);
    const bool whole = sizes.size() == axes + 2 && sizes[0] == p.batch && sizes[1] == p.out_channels;
    if (sizes.size() != axes && !whole) {
        reject(fmt::format("--output-size ({}) must be {} sizes, or batch and out_channels ({}x{}) and then those",
                           shown(text), axes, p.batch, p.out_channels));
    }
    Problem widest = p;
    for (std::size_t axis = 0; axis < 3; ++axis)
        widest.output_padding[axis] = std::max<std::int64_t>(std::max(p.stride[axis], p.dilation[axis]) - 1, 0);
    validate(widest);
    Extents padding{0, 0, 0};
    for (std::size_t i = 0; i < axes; ++i) {
        const std::size_t axis = 3 - axes + i;
        const std::int64_t high = output_extents(widest)[axis];
        const std::int64_t low = high - widest.output_padding[axis];
        const std::int64_t size = sizes[sizes.size() - axes + i];
        if (size < low || size > high) {
            reject(
                fmt::format("--output-size ({}) must be from {} to {} on axis {}: what stride and dilation leave open",
                            shown(text), low, high, i + 1));
        }
        padding[axis] = size - low;
    }
    return padding;
}

/// The weight's layout is what people get wrong: says which shape was expected.
void require_matching_channels(const Problem& p, const std::vector<std::int64_t>& weight, const std::string& text) {
    if (weight[0] == p.in_channels) return;
    std::vector<std::int64_t> expected = weight;
    const bool swapped = p.groups == 1 && weight[1] == p.in_channels;
    if (swapped) expected[1] = weight[0];
    expected[0] = p.in_channels;
    reject(fmt::format(
        "--weight ({}) must be c_in x c_out/groups x kernel with c_in = {} as in --input: expected shape {}",
        shown(text), p.in_channels, fmt::join(expected, "x")));
}

}  // namespace

void add_shape_options(CLI::App& command, ProblemOptions& options) {
    const auto add = [&](const char* flag, auto& value, const char* form, const char* help) {
        command.add_option(flag, value, help)->type_name(form)->group("Problem");
    };
    add("--input", options.input, "NxCINxSIZE", "Shape of the input: batch, channels, then 1, 2 or 3 spatial sizes");
    add("--weight", options.weight, "CINxCOUT/GxK", "Shape of the weight: c_in, c_out / groups, then the kernel sizes");
    add("--stride", options.stride, "N[xN...]", "Stride: one number for all axes or one an axis (default 1)");
    add("--padding", options.padding, "N[xN...]", "Padding, which crops the output (default 0)");
    add("--output-padding", options.output_padding, "N[xN...]",
        "Rows added at the output's end, below stride or dilation (default 0)");
    add("--output-size", options.output_size, "N[xN...]",
        "Size of the output on each axis, or its whole shape, instead of the output padding");
    add("--dilation", options.dilation, "N[xN...]", "Distance between kernel taps (default 1)");
    add("--groups", options.groups, "G", "Groups, which must divide both channel counts (default 1)");
    command.add_flag("--bias", options.bias, "The layer adds a bias")->group("Problem");
}

void add_type_options(CLI::App& command, ProblemOptions& options) {
    command.add_option("--dtype", options.dtype, "Element type (default f32)")
        ->type_name("f32|f16|bf16")
        ->group("Problem");
    command
        .add_option("--layout", options.layout,
                    "Memory order of input, output and weight: contiguous or channels last (default nchw)")
        ->type_name("nchw|nhwc")
        ->group("Problem");
}

bool describes_shape(const ProblemOptions& o) {
    return o.input || o.weight || o.stride || o.padding || o.output_padding || o.output_size || o.dilation ||
           o.groups || o.bias;
}

Problem parse_problem(const ProblemOptions& options) {
    const std::vector<std::int64_t> input = parse_shape("--input", options.input, "N x c_in x spatial sizes");
    const std::vector<std::int64_t> weight =
        parse_shape("--weight", options.weight, "c_in x c_out/groups x kernel sizes");
    if (input.size() != weight.size()) {
        reject(fmt::format("--weight ({}) has {} kernel axes, but --input ({}) has {} spatial axes: they must agree",
                           shown(*options.weight), weight.size() - 2, shown(*options.input), input.size() - 2));
    }
    Problem p;
    p.spatial_axes = static_cast<int>(input.size()) - 2;
    p.batch = input[0];
    p.in_channels = input[1];
    p.groups = options.groups ? parse_integer("--groups", *options.groups) : 1;
    // A group count below 1 is left to `validate`, which names it.
    if (__builtin_mul_overflow(weight[1], std::max<std::int64_t>(p.groups, 1), &p.out_channels))
        reject(fmt::format("--groups ({}) times c_out/groups ({}) must fit in 64 bits", p.groups, weight[1]));
    p.input = trailing_extents(input);
    p.kernel = trailing_extents(weight);
    p.stride = parse_axes("--stride", options.stride, p.spatial_axes, 1);
    p.padding = parse_axes("--padding", options.padding, p.spatial_axes, 0);
    p.output_padding = parse_axes("--output-padding", options.output_padding, p.spatial_axes, 0);
    p.dilation = parse_axes("--dilation", options.dilation, p.spatial_axes, 1);
    if (options.output_size) {
        if (options.output_padding) reject("--output-size and --output-padding say the same thing: give one of them");
        p.output_padding = padding_for_size(*options.output_size, p);
    }
    p.bias = options.bias;
    p.dtype = parse_data_type(options.dtype);
    p.layout = parse_layout(options.layout);
    validate(p);
    require_matching_channels(p, weight, *options.weight);
    return p;
}

}  // namespace tconv
