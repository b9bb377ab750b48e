// A thread computes a box of outputs: all phases of some positions along each axis, for the channels of a plane. What
// it is, which inputs it needs, and where its block lies.
#pragma once

#include "box_axis.cuh"
#include "split_off.cuh"

namespace tconv::box {

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
        block.plane = split_off<Index>(number, plane_tiles) * tile_planes;
        block.first_tile = split_off<u32>(number, walks) * steps;
    } else {
        block.first_tile = split_off<u32>(number, walks) * steps;
        block.plane = split_off<Index>(number, plane_tiles) * tile_planes;
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
    place.w = split_off<Index>(number, tiles_w) * tile_w;
    place.h = split_off<Index>(number, tiles_h) * tile_h;
    place.d = static_cast<Index>(number) * tile_d;
    return place;
}

/// Neighbouring threads lie along the axis that is contiguous in the tensors.
__device__ __forceinline__ Place place_of_thread(const Place& tile, u32 number = threadIdx.x) {
    Place place = tile;
    if constexpr (channels_last) place.plane += split_off<Index>(number, tile_planes);
    place.w += split_off<Index>(number, tile_w);
    place.h += split_off<Index>(number, tile_h);
    place.d += split_off<Index>(number, tile_d);
    if constexpr (!channels_last) place.plane += split_off<Index>(number, tile_planes);
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
