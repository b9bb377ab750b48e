// The inputs of a thread, straight from the tensor to registers.
#pragma once

#include "box_shape.cuh"
#include "element_vectors.cuh"

namespace tconv::box {

constexpr int load_width = config::load_vector;

/// The smallest power of two that, as a width of aligned pieces, has one piece that covers [begin, end).
__device__ constexpr int covering(int begin, int end) {
    int size = 1;
    while (begin / size != (end - 1) / size)
        size *= 2;
    return size;
}

/// Where a row of the window begins: the input row at the thread's first position along the width and its first input
/// channel, and whether it lies inside the tensor.
struct Line {
    const Element* first;
    Index t;  // of the thread along the width
    bool inside;
};

/// Channels first: inputs Number, Number + 1, ... of a window's row, as they are in memory. Rows are whole vectors,
/// which lie inside the tensor or outside; of one that is needed in part only the smallest part is read that will do.
template <int Number, bool Some = (Number < AxisW::window)>
struct Pieces {
    static constexpr int offset = AxisW::first + Number;
    static constexpr int begin = offset - static_cast<int>(floor_div(offset, load_width)) * load_width;
    static constexpr int left = AxisW::window - Number;
    static constexpr int count = load_width - begin < left ? load_width - begin : left;
    static constexpr int size = covering(begin, begin + count);
    static constexpr int skipped = begin % size;

    Vector<size> vector;
    Pieces<Number + count> rest;

    __device__ __forceinline__ void clear() {
        vector = {};
        rest.clear();
    }
    __device__ __forceinline__ void load(const Line& line) {
        load_if<size>(line.inside && AxisW::holds(line.t, Number), vector, line.first + (offset - skipped));
        rest.load(line);
    }
    /// From shared memory, where whatever lies outside the tensor has its place too.
    __device__ __forceinline__ void read(const Element* first) {
        vector = *reinterpret_cast<const Vector<size>*>(first + (offset - skipped));
        rest.read(first);
    }
    __device__ __forceinline__ float at(int number) const {
        return number < Number + count ? element_of(vector, skipped + number - Number) : rest.at(number);
    }
};
template <int Number>
struct Pieces<Number, false> {
    __device__ __forceinline__ void clear() {}
    __device__ __forceinline__ void load(const Line&) {}
    __device__ __forceinline__ void read(const Element*) {}
    __device__ __forceinline__ float at(int) const { return 0.0f; }
};

/// The thread's window of one input row. What lies outside the tensor is not loaded: zeros in a row that was cleared.
template <bool ChannelsLast>
struct RowOf {
    Pieces<0> channels[in_span];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (auto& channel : channels)
            channel.clear();
    }
    __device__ __forceinline__ void load(const Line& line) {
#pragma unroll
        for (int channel = 0; channel < in_span; ++channel)
            channels[channel].load({line.first + channel * input_volume, line.t, line.inside});
    }
    __device__ __forceinline__ float at(int channel, int number) const {
        return channels[channel].at(number);
    }
};
/// Channels last: [position] of vectors of channels.
template <>
struct RowOf<true> {
    static constexpr int count = channels_last ? in_span / load_width : 1;
    Vector<load_width> vectors[AxisW::window][count];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (auto& position : vectors) {
#pragma unroll
            for (auto& vector : position)
                vector = {};
        }
    }
    __device__ __forceinline__ void load(const Line& line) {
#pragma unroll
        for (int number = 0; number < AxisW::window; ++number) {
            const bool holds = line.inside && AxisW::holds(line.t, number);
            const Element* position = line.first + (AxisW::first + number) * static_cast<Index>(problem::in_channels);
#pragma unroll
            for (int i = 0; i < count; ++i)
                load_if<load_width>(holds, vectors[number][i], position + i * load_width);
        }
    }
    __device__ __forceinline__ float at(int channel, int number) const {
        return element_of(vectors[number][channel / load_width], channel % load_width);
    }
};
using Row = RowOf<channels_last>;

/// Registers of a window of all rows; it is loaded at once where that is few.
constexpr int row_registers = AxisW::window * in_span * (channels_last ? problem::element_bytes : 4) / 4;
constexpr int rows = AxisD::window * AxisH::window;
constexpr bool all_at_once = rows * row_registers <= 72;

/// Where row (id, ih) of the window lies from its origin.
__device__ __forceinline__ Index line_of(int id, int ih) {
    const Index line = (id * AxisH::input + ih) * AxisW::input;
    return line * (channels_last ? static_cast<Index>(problem::in_channels) : 1);
}

/// Row (id, ih) of the window. `origin` is where the window of a thread would begin along depth and height, at the
/// thread's first position along the width and its first input channel.
__device__ __forceinline__ void load_row(Row& row, const Element* origin, const Place& thread, int id, int ih) {
    row.load({origin + line_of(id, ih), thread.w, AxisD::holds(thread.d, id) && AxisH::holds(thread.h, ih)});
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
