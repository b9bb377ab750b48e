#include "bench/mode.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/error.hpp"

namespace tconv {
namespace {

constexpr std::array<std::pair<Mode, std::string_view>, 5> k_names{
    {{Mode::strict, "strict"}, {Mode::fp32, "fp32"}, {Mode::tf32, "tf32"}, {Mode::fp16, "fp16"}, {Mode::bf16, "bf16"}}};
constexpr double k_tf32_tolerance = 1e-2;

}  // namespace

std::string_view to_string(Mode mode) {
    for (const auto& [value, name] : k_names) {
        if (value == mode) return name;
    }
    return "?";
}

Mode parse_mode(std::string_view text) {
    for (const auto& [value, name] : k_names) {
        if (name == text) return value;
    }
    throw Error(ErrorKind::bad_input, fmt::format("mode ({}) must be strict, fp32, tf32, fp16 or bf16", text));
}

const std::vector<Mode>& all_modes() {
    static const std::vector<Mode> modes{Mode::strict, Mode::fp32, Mode::tf32, Mode::fp16, Mode::bf16};
    return modes;
}

DataType data_type_of(Mode mode) {
    switch (mode) {
        case Mode::fp16:
            return DataType::f16;
        case Mode::bf16:
            return DataType::bf16;
        case Mode::strict:
        case Mode::fp32:
        case Mode::tf32:
            break;
    }
    return DataType::f32;
}

double tolerance_of(Mode mode) {
    return mode == Mode::tf32 ? k_tf32_tolerance : default_tolerance(data_type_of(mode));
}

}  // namespace tconv
