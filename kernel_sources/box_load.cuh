// The inputs of a thread, straight from the tensor to registers.
#pragma once

#include "box_shape.cuh"
#include "element_vectors.cuh"

namespace tconv::box {

constexpr int load_width = config::load_vector;

/// The thread's window of one input row.
struct Row {
    // Channels first: [channel][position], in fp32. Channels last: [position] of vectors of channels, as they are in
    // memory, which for 16-bit elements is half as many registers.
    float values[channels_last ? 1 : in_span][channels_last ? 1 : AxisW::window];
    Vector<load_width> vectors[channels_last ? AxisW::window : 1][channels_last ? in_span / load_width : 1];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (auto& channel : values) {
#pragma unroll
            for (float& value : channel)
                value = 0.0f;
        }
#pragma unroll
        for (auto& position : vectors) {
#pragma unroll
            for (auto& vector : position)
                vector = {};
        }
    }
    __device__ __forceinline__ float at(int channel, int number) const {
        if constexpr (channels_last) {
            return element_of(vectors[number][channel / load_width], channel % load_width);
        } else {
            return values[channel][number];
        }
    }
};

/// Registers of a window of all rows; it is loaded at once where that is few.
constexpr int row_registers = AxisW::window * in_span * (channels_last ? problem::element_bytes : 4) / 4;
constexpr int rows = AxisD::window * AxisH::window;
constexpr bool all_at_once = rows * row_registers <= 72;

/// The smallest power of two that, as a width of aligned pieces, has one piece that covers [begin, end).
__device__ constexpr int covering(int begin, int end) {
    int size = 1;
    while (begin / size != (end - 1) / size)
        size *= 2;
    return size;
}

/// Channels first: inputs Number, Number + 1, ... of the window. Rows are whole vectors, which lie inside the tensor or
/// outside; of one that is needed in part only the smallest part is read that will do.
template <int Number>
__device__ __forceinline__ void load_from(float* values, const Element* row, Index t, bool row_inside) {
    if constexpr (Number < AxisW::window) {
        constexpr int offset = AxisW::first + Number;
        constexpr int begin = offset - static_cast<int>(floor_div(offset, load_width)) * load_width;
        constexpr int count = load_width - begin < AxisW::window - Number ? load_width - begin : AxisW::window - Number;
        constexpr int size = covering(begin, begin + count);
        constexpr int skipped = begin % size;
        Vector<size> vector{};
        if constexpr (problem::element_bytes == 4) {
#pragma unroll
            for (int i = 0; i < count; ++i)
                vector.v[skipped + i] = values[Number + i];
        }
        load_if<size>(row_inside && AxisW::holds(t, Number), vector, row + (offset - skipped));
#pragma unroll
        for (int i = 0; i < count; ++i)
            values[Number + i] = element_of(vector, skipped + i);
        load_from<Number + count>(values, row, t, row_inside);
    }
}

/// Inputs outside the tensor stay as they are, zeros in a row that was cleared. `origin` is where the window of a
/// thread would begin along depth and height, at the thread's first position along the width and its first input
/// channel.
__device__ __forceinline__ void load_row(Row& row, const Element* origin, const Place& thread, int id, int ih) {
    const bool inside = AxisD::holds(thread.d, id) && AxisH::holds(thread.h, ih);
    const Index line = (id * AxisH::input + ih) * AxisW::input;
    if constexpr (channels_last) {
#pragma unroll
        for (int number = 0; number < AxisW::window; ++number) {
            const bool holds = inside && AxisW::holds(thread.w, number);
            const Element* position =
                origin + (line + AxisW::first + number) * static_cast<Index>(problem::in_channels);
#pragma unroll
            for (int i = 0; i < in_span / load_width; ++i) {
                load_if<load_width>(holds, row.vectors[number][i], position + i * load_width);
            }
        }
    } else {
#pragma unroll
        for (int channel = 0; channel < in_span; ++channel)
            load_from<0>(row.values[channel], origin + channel * input_volume + line, thread.w, inside);
    }
}

__device__ __forceinline__ const Element* origin_of(const Element* entry, const Place& thread) {
    const Index position =
        ((thread.d * AxisD::positions + AxisD::first) * AxisH::input + thread.h * AxisH::positions + AxisH::first) *
            AxisW::input +
        thread.w * AxisW::positions;
    const Index channel = group_of(thread) * in_group;
    const Index offset = channels_last ? position * static_cast<Index>(problem::in_channels) + channel
                                       : channel * input_volume + position;
    return entry + offset;
}

}  // namespace tconv::box
