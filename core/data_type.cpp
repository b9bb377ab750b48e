#include "core/data_type.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace tconv {

std::int64_t size_in_bytes(DataType type) {
    return type == DataType::f32 ? 4 : 2;
}

std::string_view to_string(DataType type) {
    switch (type) {
        case DataType::f32:
            return "f32";
        case DataType::f16:
            return "f16";
        case DataType::bf16:
            return "bf16";
    }
    return "?";
}

std::string_view to_string(Layout layout) {
    return layout == Layout::nchw ? "nchw" : "nhwc";
}

DataType parse_data_type(std::string_view text) {
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
        if (text == to_string(type)) return type;
    }
    throw Error(ErrorKind::bad_input, fmt::format("dtype ({}) must be f32, f16 or bf16", text));
}

Layout parse_layout(std::string_view text) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
        if (text == to_string(layout)) return layout;
    }
    throw Error(ErrorKind::bad_input, fmt::format("layout ({}) must be nchw or nhwc", text));
}

double default_tolerance(DataType type) {
    switch (type) {
        case DataType::f32:
            return 1e-4;
        case DataType::f16:
            return 2e-3;
        case DataType::bf16:
            return 1.6e-2;
    }
    return 0;
}

}  // namespace tconv
