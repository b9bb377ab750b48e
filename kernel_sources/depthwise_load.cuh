// Inputs and weights of a thread, straight from the tensors to registers; weights of channels-last tensors by way of
// shared memory.
#pragma once

#include "depthwise_shape.cuh"
#include "element_vectors.cuh"

namespace tconv::depthwise {

constexpr int load_width = config::load_vector;

/// The thread's window of one input row.
struct Row {
    // Channels first: [channel][position], in fp32. Channels last: [position] of vectors of channels, as they are in
    // memory, which for 16-bit elements is half as many registers.
    float values[channels_last ? 1 : in_span][channels_last ? 1 : AxisW::window];
    Vector<load_width> vectors[channels_last ? AxisW::window : 1][channels_last ? in_span / load_width : 1];

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
        if (row_inside && AxisW::holds(t, Number)) vector = load_vector<size>(row + (offset - skipped));
#pragma unroll
        for (int i = 0; i < count; ++i)
            values[Number + i] = element_of(vector, skipped + i);
        load_from<Number + count>(values, row, t, row_inside);
    }
}

/// `origin` is where the window of a thread would begin along depth and height, at the thread's first position along
/// the width and its first input channel.
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
                row.vectors[number][i] = {};
                if (holds) row.vectors[number][i] = load_vector<load_width>(position + i * load_width);
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

/// The weights of a tap: [group][input channel][output channel].
struct TapWeights {
    float values[products];
};

/// Channels first. All threads of a plane read the same addresses.
struct PlaneWeights {
    static constexpr bool held = products * taps <= 128;
    /// Weights of a plane are whole vectors, as is the tensor up to there.
    static constexpr int width = taps % load_width == 0 ? load_width : taps % 2 == 0 && load_width > 1 ? 2 : 1;

    const Element* first;  // of the plane
    float values[held ? products : 1][held ? taps : 1];

    __device__ __forceinline__ explicit PlaneWeights(const Element* weight, const Place& thread)
        : first(weight + static_cast<i64>(group_of(thread) * static_cast<Index>(in_group * out_group) +
                                          thread.plane % group_planes * channels) *
                             taps) {
        if (held && thread.plane < static_cast<Index>(planes)) {
#pragma unroll
            for (int product = 0; product < products; ++product) {
#pragma unroll
                for (int tap = 0; tap < taps; tap += width) {
                    const Vector<width> vector = load_vector<width>(address(product, tap));
#pragma unroll
                    for (int i = 0; i < width; ++i)
                        values[held ? product : 0][held ? tap + i : 0] = element_of(vector, i);
                }
            }
        }
    }
    __device__ __forceinline__ const Element* address(int product, int tap) const {
        return first + (product / channels * out_group + product % channels) * taps + tap;
    }
    __device__ __forceinline__ TapWeights operator()(int tap) const {
        TapWeights weights;
#pragma unroll
        for (int product = 0; product < products; ++product)
            weights.values[product] =
                held ? values[held ? product : 0][held ? tap : 0] : to_float(load_readonly(address(product, tap)));
        return weights;
    }
};

/// Channels last. Shared memory holds the weights of the block's groups in fp32 so that a thread reads vectors of those
/// of a tap, and neighbouring threads neighbouring vectors: [tap][vector][thread].
struct SharedWeights {
    static constexpr int width = products % 4 == 0 ? 4 : products % 2 == 0 ? 2 : 1;
    static constexpr int vectors = products / width;

    const float* first;  // of the thread

    __device__ __forceinline__ static int place(int lane, int product, int tap) {
        return ((tap * vectors + product / width) * tile_planes + lane) * width + product % width;
    }
    /// All threads of the block together, before a barrier.
    __device__ __forceinline__ static void stage(float* shared, const Element* weight, const Block& block) {
        const Index first = block.plane * static_cast<Index>(products * taps);
        const Index left = (static_cast<Index>(planes) - block.plane) * static_cast<Index>(products * taps);
        const int count = left < tile_planes * products * taps ? static_cast<int>(left) : tile_planes * products * taps;
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x); i < count; i += threads) {
            const int product = i / taps;
            shared[place(product / products, product % products, i % taps)] =
                to_float(load_readonly(weight + first + i));
        }
    }
    __device__ __forceinline__ explicit SharedWeights(const float* shared, const Place& thread)
        : first(shared + static_cast<int>(thread.plane % tile_planes) * width) {}

    __device__ __forceinline__ TapWeights operator()(int tap) const {
        TapWeights weights;
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            const Floats<width> vector = load<width>(first + (tap * vectors + i) * (tile_planes * width));
#pragma unroll
            for (int j = 0; j < width; ++j)
                weights.values[i * width + j] = vector.v[j];
        }
        return weights;
    }
};

}  // namespace tconv::depthwise
