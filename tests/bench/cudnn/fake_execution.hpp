#pragma once

#include <cudnn_graph.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "tests/support/element_types.hpp"

// The gradient of a convolution by its input, from the definition of the convolution, on tensors with strides.
namespace fake {

struct Tensor {
    std::vector<std::int64_t> extents, strides;
    int type = 0;
    std::int64_t id = 0;
};

struct Work {
    Tensor dy, w, dx;
    std::optional<Tensor> bias;
    std::vector<std::int64_t> stride, padding, dilation;
};

/// Whether dy has the extents that the convolution of dx with w has.
inline bool is_convolution(const Work& work) {
    const std::size_t axes = work.stride.size();
    if (axes < 2 || work.dy.extents.size() != axes + 2 || work.w.extents.size() != axes + 2) return false;
    if (work.w.extents[0] != work.dy.extents[1] || work.dx.extents[1] % work.w.extents[1] != 0) return false;
    for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::int64_t reach = (work.w.extents[axis + 2] - 1) * work.dilation[axis] + 1;
        const std::int64_t room = work.dx.extents[axis + 2] + 2 * work.padding[axis] - reach;
        if (room < 0 || room / work.stride[axis] + 1 != work.dy.extents[axis + 2]) return false;
    }
    return true;
}

inline std::int64_t place(const Tensor& tensor, const std::vector<std::int64_t>& index) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
        offset += index[axis] * tensor.strides[axis];
    return offset;
}

/// Visits every index of the extents.
template <class Visitor>
void for_each_index(const std::vector<std::int64_t>& extents, Visitor&& visit) {
    std::vector<std::int64_t> index(extents.size(), 0);
    for (;;) {
        visit(index);
        std::size_t axis = extents.size();
        while (axis > 0 && ++index[axis - 1] == extents[axis - 1])
            index[--axis] = 0;
        if (axis == 0) return;
    }
}

inline tconv::DataType type_of(int type) {
    return type == CUDNN_DATA_HALF       ? tconv::DataType::f16
           : type == CUDNN_DATA_BFLOAT16 ? tconv::DataType::bf16
                                         : tconv::DataType::f32;
}

inline double load(const Tensor& tensor, const void* memory, std::int64_t at) {
    if (tensor.type == CUDNN_DATA_FLOAT) return static_cast<const float*>(memory)[at];
    return tconv::test::value_of_bits(type_of(tensor.type), static_cast<const std::uint16_t*>(memory)[at]);
}

/// The bits of the nearest 16-bit value: of all, by bisection over the positive ones, whose bits are in their order.
inline std::uint16_t nearest_bits(tconv::DataType type, double value) {
    std::uint16_t low = 0;
    std::uint16_t high = type == tconv::DataType::f16 ? 0x7C00 : 0x7F80;
    while (high - low > 1) {
        const auto middle = static_cast<std::uint16_t>((low + high) / 2);
        (tconv::test::value_of_bits(type, middle) <= std::abs(value) ? low : high) = middle;
    }
    const double below = std::abs(value) - tconv::test::value_of_bits(type, low);
    const double above = tconv::test::value_of_bits(type, high) - std::abs(value);
    const bool up = above < below || (above == below && low % 2 == 1);
    return static_cast<std::uint16_t>((up ? high : low) | (std::signbit(value) ? 0x8000 : 0));
}

inline void store(const Tensor& tensor, void* memory, std::int64_t at, double value) {
    if (tensor.type == CUDNN_DATA_FLOAT) {
        static_cast<float*>(memory)[at] = static_cast<float>(value);
    } else {
        static_cast<std::uint16_t*>(memory)[at] = nearest_bits(type_of(tensor.type), value);
    }
}

inline void compute(const Work& work, const std::map<std::int64_t, void*>& memory) {
    const std::size_t axes = work.stride.size();
    const std::int64_t c_group = work.w.extents[1];
    const std::int64_t k_group = work.w.extents[0] / (work.dx.extents[1] / c_group);
    for_each_index(work.dx.extents, [&](const std::vector<std::int64_t>& x) {
        double sum = 0;
        const std::int64_t group = x[1] / c_group;
        std::vector<std::int64_t> taps(work.w.extents.begin() + 2, work.w.extents.end());
        taps.insert(taps.begin(), k_group);
        for_each_index(taps, [&](const std::vector<std::int64_t>& tap) {
            std::vector<std::int64_t> y{x[0], group * k_group + tap[0]};
            std::vector<std::int64_t> w{y[1], x[1] % c_group};
            for (std::size_t axis = 0; axis < axes; ++axis) {
                const std::int64_t reached = x[axis + 2] + work.padding[axis] - tap[axis + 1] * work.dilation[axis];
                if (reached < 0 || reached % work.stride[axis] != 0) return;
                y.push_back(reached / work.stride[axis]);
                if (y.back() >= work.dy.extents[axis + 2]) return;
                w.push_back(tap[axis + 1]);
            }
            sum += load(work.dy, memory.at(work.dy.id), place(work.dy, y)) *
                   load(work.w, memory.at(work.w.id), place(work.w, w));
        });
        if (work.bias) sum += load(*work.bias, memory.at(work.bias->id), x[1] * work.bias->strides[1]);
        store(work.dx, memory.at(work.dx.id), place(work.dx, x), sum);
    });
}

}  // namespace fake
