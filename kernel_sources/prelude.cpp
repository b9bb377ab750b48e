#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "core/phases.hpp"
#include "kernel_sources/sources.hpp"

namespace tconv {
namespace {

constexpr std::array<char, 3> k_axes{'d', 'h', 'w'};

class PreludeWriter {
public:
    void open(const char* name) { fmt::format_to(std::back_inserter(text_), "namespace tconv::{} {{\n", name); }
    void close() { text_ += "}\n"; }
    void number(const std::string& name, std::int64_t value) {
        // Small values are plain ints, so that 32-bit arithmetic in a kernel stays 32-bit.
        const bool small =
            value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
        fmt::format_to(std::back_inserter(text_), "constexpr {} {} = {};\n", small ? "int" : "long long", name, value);
    }
    void wide(const std::string& name, std::int64_t value) {
        fmt::format_to(std::back_inserter(text_), "constexpr long long {} = {};\n", name, value);
    }
    void flag(const std::string& name, bool value) {
        fmt::format_to(std::back_inserter(text_), "constexpr bool {} = {};\n", name, value);
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_ = "#line 1 \"prelude\"\n";
};

/// True where a position or an offset within one batch entry may leave 32 bits.
bool needs_wide_index(const Problem& p) {
    constexpr double limit = 2147483647.0 - 1048576.0;
    Problem entry = p;
    entry.batch = 1;
    const Extents output = output_extents(p);
    double largest = std::max({static_cast<double>(input_elements(entry)), static_cast<double>(output_elements(entry)),
                               static_cast<double>(weight_elements(entry))});
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double reach = static_cast<double>(p.kernel[axis]) * static_cast<double>(p.dilation[axis]);
        const double spread =
            static_cast<double>(p.input[axis] + p.padding[axis]) * static_cast<double>(p.stride[axis]);
        largest = std::max({largest, reach + spread, static_cast<double>(output[axis] + p.padding[axis])});
    }
    return largest > limit;
}

void write_axis(PreludeWriter& writer, const Problem& p, std::size_t axis) {
    const auto name = [&](const char* stem) { return fmt::format("{}_{}", stem, k_axes[axis]); };
    const TapPattern pattern = tap_pattern(p.stride[axis], p.dilation[axis]);
    writer.wide(name("input"), p.input[axis]);
    writer.wide(name("output"), output_extents(p)[axis]);
    writer.wide(name("kernel"), p.kernel[axis]);
    writer.wide(name("stride"), p.stride[axis]);
    writer.wide(name("padding"), p.padding[axis]);
    writer.wide(name("dilation"), p.dilation[axis]);
    writer.wide(name("tap_divisor"), pattern.divisor);
    writer.wide(name("tap_inverse"), pattern.inverse);
}

}  // namespace

std::string prelude(const Problem& described, const Config& config) {
    const Problem problem = with_lone_inputs_parted(described);
    PreludeWriter writer;
    writer.open("problem");
    writer.wide("in_channels", problem.in_channels);
    writer.wide("out_channels", problem.out_channels);
    writer.wide("groups", problem.groups);
    for (std::size_t axis = 0; axis < 3; ++axis)
        write_axis(writer, problem, axis);
    writer.flag("bias", problem.bias);
    writer.number("element_bytes", size_in_bytes(problem.dtype));
    writer.flag("bfloat", problem.dtype == DataType::bf16);
    writer.flag("channels_last", problem.layout == Layout::nhwc);
    writer.flag("wide_index", needs_wide_index(problem));
    writer.close();
    writer.open("config");
    for (const auto& [name, value] : config)
        writer.number(name, value);
    writer.close();
    return writer.take();
}

}  // namespace tconv
