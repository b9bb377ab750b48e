// A thread computes a box of outputs: all phases of some positions along each axis, for the channels of a plane. What
// it is, which inputs it needs, and where its block lies.
#pragma once

#include "elements.cuh"

namespace tconv::box {

/// Rounded down and up, also below zero.
__device__ constexpr i64 floor_div(i64 value, i64 divisor) {
    return value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor);
}
__device__ constexpr i64 ceil_div(i64 value, i64 divisor) {
    return -floor_div(-value, divisor);
}

template <class T>
struct UnsignedOf {
    using type = u32;
};
template <>
struct UnsignedOf<i64> {
    using type = u64;
};

/// An axis of a thread. Thread t computes `Positions` times all phases, which are outputs t * outputs - Shift and the
/// following, from a window of inputs that begins at t * Positions + first. Both begin at a multiple of t, so which
/// input meets which output with which tap is known to the compiler, whatever the padding.
template <i64 Kernel, i64 Stride, i64 Padding, i64 Dilation, i64 Input, i64 Output, int Positions, int Shift>
struct Axis {
    static constexpr int kernel = static_cast<int>(Kernel);
    static constexpr int positions = Positions;
    static constexpr int outputs = static_cast<int>(Positions * Stride);
    static constexpr int shift = Shift;
    static constexpr Index input = static_cast<Index>(Input);
    static constexpr Index output = static_cast<Index>(Output);
    static constexpr i64 lead = Padding - Shift;
    static constexpr int first = static_cast<int>(ceil_div(lead - (Kernel - 1) * Dilation, Stride));
    static constexpr int window = static_cast<int>(floor_div(outputs - 1 + lead, Stride)) - first + 1;
    /// Threads along the whole axis.
    static constexpr i64 threads = ceil_div(Output + Shift, outputs);

    /// The thread's output that input `number` of the window reaches with tap `k`, or -1.
    __device__ static constexpr int reached(int number, int k) {
        const i64 reached = (first + number) * Stride + k * Dilation - lead;
        return reached >= 0 && reached < outputs ? static_cast<int>(reached) : -1;
    }
    /// The tap with which input `number` of the window reaches the thread's output, or -1.
    __device__ static constexpr int tap(int output_number, int number) {
        const i64 distance = output_number + lead - (first + number) * Stride;
        if (distance < 0 || distance % Dilation != 0 || distance / Dilation >= Kernel) return -1;
        return static_cast<int>(distance / Dilation);
    }
    /// True where input `number` of thread t's window lies inside the tensor.
    __device__ static bool holds(Index t, int number) {
        const Index position = t * positions + first + number;
        return position >= 0 && position < input;
    }
    /// First output of thread t, which may lie before the tensor.
    __device__ static Index output_of(Index t) { return t * outputs - shift; }
    /// True where the thread's output lies inside the tensor.
    __device__ static bool yields(Index t, int number) {
        const Index position = output_of(t) + number;
        return (shift == 0 || position >= 0) && position < output;
    }
};

#define TCONV_AXIS(axis)                                                                                    \
    Axis<problem::kernel_##axis, problem::stride_##axis, problem::padding_##axis, problem::dilation_##axis, \
         problem::input_##axis, problem::output_##axis, config::positions_##axis, config::shift_##axis>
using AxisD = TCONV_AXIS(d);
using AxisH = TCONV_AXIS(h);
using AxisW = TCONV_AXIS(w);
#undef TCONV_AXIS

constexpr bool channels_last = problem::channels_last;
constexpr int in_group = static_cast<int>(problem::in_channels / problem::groups);
constexpr int out_group = static_cast<int>(problem::out_channels / problem::groups);
constexpr int taps = AxisD::kernel * AxisH::kernel * AxisW::kernel;
constexpr Index input_volume = AxisD::input * AxisH::input * AxisW::input;
constexpr Index output_volume = AxisD::output * AxisH::output * AxisW::output;

/// A thread takes `groups` groups and of each all input channels and `channels` output channels. That is a plane.
constexpr int groups = config::groups;
constexpr int channels = config::channels;
/// Input channels of a window: those of the thread's groups, or one after the other.
constexpr int in_span = config::window_channels;
constexpr int out_span = groups * channels;
constexpr int products = in_span * channels;  // weights of a tap that a window meets
constexpr int group_planes = out_group / channels;
constexpr i64 planes = problem::groups / groups * group_planes;  // of a batch entry

// Threads of a block along each axis, and how many such tiles cover the axis. A flat tile is a run of threads in the
// order of the image, whatever rows they are in: none are idle at the end of a row.
constexpr bool flat = config::flat != 0;
constexpr i64 image_threads = AxisD::threads * AxisH::threads * AxisW::threads;
constexpr int tile_w = config::tile_w;
constexpr int tile_h = config::tile_h;
constexpr int tile_d = config::tile_d;
constexpr int tile_planes = config::tile_planes;
constexpr int threads = config::threads;
constexpr u32 tiles_w = static_cast<u32>(ceil_div(flat ? image_threads : AxisW::threads, tile_w));
constexpr u32 tiles_h = flat ? 1 : static_cast<u32>(ceil_div(AxisH::threads, tile_h));
constexpr u32 tiles_d = flat ? 1 : static_cast<u32>(ceil_div(AxisD::threads, tile_d));
constexpr u32 plane_tiles = static_cast<u32>(ceil_div(planes, tile_planes));

constexpr u32 tiles = tiles_w * tiles_h * tiles_d;
/// Tiles of the same planes that a block takes one after the other.
constexpr u32 steps = static_cast<u32>(config::steps);

/// Takes a digit below `count` off the number.
__device__ __forceinline__ u32 split_off(u32& number, u32 count) {
    const u32 rest = number / count;
    const u32 digit = number - rest * count;
    number = rest;
    return digit;
}

/// Planes and tiles of a block.
struct Block {
    u32 batch;
    Index plane;
    u32 first_tile;
};

__device__ __forceinline__ Block this_block() {
    constexpr u32 walks = (tiles + steps - 1) / steps;
    u32 number = blockIdx.x;
    Block block{};
    if constexpr (channels_last) {
        block.plane = static_cast<Index>(split_off(number, plane_tiles)) * tile_planes;
        block.first_tile = split_off(number, walks) * steps;
    } else {
        block.first_tile = split_off(number, walks) * steps;
        block.plane = static_cast<Index>(split_off(number, plane_tiles)) * tile_planes;
    }
    block.batch = number;
    return block;
}

/// Along each axis the first thread of a tile, or a thread itself; of a flat tile `w` is the first thread of all.
struct Place {
    Index plane, d, h, w;
};
/// Non-negative indices, which are divided in fewer steps.
using Count = UnsignedOf<Index>::type;

__device__ __forceinline__ Place place_of_tile(const Block& block, u32 number) {
    Place place{};
    place.plane = block.plane;
    place.w = static_cast<Index>(split_off(number, tiles_w)) * tile_w;
    place.h = static_cast<Index>(split_off(number, tiles_h)) * tile_h;
    place.d = static_cast<Index>(number) * tile_d;
    return place;
}

/// Neighbouring threads lie along the axis that is contiguous in the tensors.
__device__ __forceinline__ Place place_of_thread(const Place& tile, u32 number = threadIdx.x) {
    Place place = tile;
    if constexpr (channels_last) place.plane += static_cast<Index>(split_off(number, tile_planes));
    place.w += static_cast<Index>(split_off(number, tile_w));
    place.h += static_cast<Index>(split_off(number, tile_h));
    place.d += static_cast<Index>(split_off(number, tile_d));
    if constexpr (!channels_last) place.plane += static_cast<Index>(split_off(number, tile_planes));
    if constexpr (flat) {
        const auto row = static_cast<Count>(place.w) / static_cast<Count>(AxisW::threads);
        place.w -= static_cast<Index>(row * static_cast<Count>(AxisW::threads));
        place.d = static_cast<Index>(row / static_cast<Count>(AxisH::threads));
        place.h = static_cast<Index>(row) - place.d * static_cast<Index>(AxisH::threads);
    }
    // Threads past the tile have nothing to do.
    if (number != 0) place.plane = static_cast<Index>(planes);
    return place;
}

__device__ __forceinline__ bool has_work(const Place& thread) {
    return thread.plane < static_cast<Index>(planes) && thread.d < static_cast<Index>(AxisD::threads) &&
           thread.h < static_cast<Index>(AxisH::threads) && thread.w < static_cast<Index>(AxisW::threads);
}

/// The first of the thread's groups.
__device__ __forceinline__ Index group_of(const Place& thread) {
    return thread.plane / group_planes * groups;
}
/// The first of its output channels.
__device__ __forceinline__ Index out_channel_of(const Place& thread) {
    return thread.plane * out_span;
}

using Sums = float[out_span][AxisD::outputs][AxisH::outputs][AxisW::outputs];

}  // namespace tconv::box
