// What the winograd family's kernels know of problem and config.
//
// In positions n of an axis, o + lead = n * stride + phase, the outputs of a phase are a filter of few taps on the
// inputs. A tile is `tile` positions of each axis: filtered with fewer products than outputs times taps, each product
// a sum over input channels. So for every product ("point") of a tile there is a matrix product of the transformed
// input, rows = tiles, and the transformed weights, columns = output channels x phases, and what comes out is
// transformed to outputs.
//
// The phases of an axis lie in one class, or apart in two: those that begin at the same input and have as many taps.
#pragma once

#include "elements.cuh"
#include "quad_product.cuh"
#include "toom_cook.cuh"

namespace tconv::winograd {

using namespace quads;
using toom_cook::apply;
using toom_cook::Filter;

constexpr int in_group = static_cast<int>(problem::in_channels / problem::groups);
constexpr int out_group = static_cast<int>(problem::out_channels / problem::groups);
constexpr int groups = static_cast<int>(problem::groups);
constexpr bool apart = config::apart != 0;

template <i64 Input, i64 Output, i64 Kernel, i64 Stride, i64 Padding, int Tile>
struct Axis {
    static constexpr int input = static_cast<int>(Input);
    static constexpr int output = static_cast<int>(Output);
    static constexpr int kernel = static_cast<int>(Kernel);
    static constexpr int stride = static_cast<int>(Stride);
    static constexpr int tile = Tile;
    static constexpr int before = static_cast<int>(Padding % Stride);
    /// Outputs before the first that the first position would have.
    static constexpr int lead = apart ? 0 : before;
    static constexpr int first_input = static_cast<int>(Padding / Stride);
    static constexpr int positions = (output + lead + stride - 1) / stride;
    static constexpr int tiles = (positions + tile - 1) / tile;
    /// Phases of the first class.
    static constexpr int split = !apart        ? stride
                                 : before != 0 ? stride - before
                                               : (kernel % stride != 0 ? kernel % stride : stride);
    static constexpr int classes = split < stride ? 2 : 1;

    /// Phase of the position's input that a phase is, and how many inputs later it is.
    __device__ static constexpr int first_tap(int phase) { return apart ? (phase + before) % stride : phase; }
    __device__ static constexpr int shift(int phase) { return apart ? (phase + before) / stride : 0; }
    __device__ static constexpr int taps(int phase) {
        return first_tap(phase) < kernel ? (kernel - first_tap(phase) - 1) / stride + 1 : 0;
    }
    __device__ static constexpr int most_taps(int first, int count) {
        int most = 1;
        for (int phase = first; phase < first + count; ++phase)
            most = taps(phase) > most ? taps(phase) : most;
        return most;
    }

    template <int Number>
    struct Class {
        static constexpr int phase = Number == 0 ? 0 : split;
        static constexpr int phases = Number == 0 ? split : stride - split;
        static constexpr int taps = most_taps(phase, phases);
        static constexpr int points = Tile + taps - 1;
        /// Number of its first point among the axis'.
        static constexpr int point = Number == 0 ? 0 : Tile + most_taps(0, split) - 1;
        /// First input of a tile's window.
        __device__ static constexpr int window(int tile_number) {
            return tile_number * Tile + first_input + shift(phase) - (taps - 1);
        }
        using Transform = Filter<Tile, taps>;
    };
    static constexpr int points = Class<0>::points + (classes == 2 ? Class<1>::points : 0);
    /// Phases that a column tells apart: those of the larger class.
    static constexpr int columns = split > stride - split ? split : stride - split;
};
#define TCONV_AXIS(axis)                                                                                \
    Axis<problem::input_##axis, problem::output_##axis, problem::kernel_##axis, problem::stride_##axis, \
         problem::padding_##axis, config::tile_##axis>
using AxisD = TCONV_AXIS(d);
using AxisH = TCONV_AXIS(h);
using AxisW = TCONV_AXIS(w);
#undef TCONV_AXIS

constexpr int points = AxisD::points * AxisH::points * AxisW::points;
constexpr int tiles = AxisD::tiles * AxisH::tiles * AxisW::tiles;
constexpr int columns = out_group * AxisD::columns * AxisH::columns * AxisW::columns;
constexpr int classes = AxisD::classes * AxisH::classes * AxisW::classes;

/// Lines in memory are whole quads.
constexpr int column_pitch = (columns + k_quad - 1) / k_quad * k_quad;
__device__ __forceinline__ i64 row_pitch(i64 rows) {
    return (rows + k_quad - 1) / k_quad * k_quad;
}

/// Matrix products: one of each point of each group.
constexpr int matrices = groups * points;
/// Of a tile's point.
__device__ __forceinline__ int matrix_of(int group, int point_d, int point_h, int point_w) {
    return ((group * AxisD::points + point_d) * AxisH::points + point_h) * AxisW::points + point_w;
}
__device__ __forceinline__ i64 weight_line(int matrix, int channel) {
    return (static_cast<i64>(matrix) * in_group + channel) * column_pitch;
}
__device__ __forceinline__ i64 input_line(int matrix, int channel, i64 pitch) {
    return (static_cast<i64>(matrix) * in_group + channel) * pitch;
}
/// Where the products begin in the workspace, behind the transformed input.
__device__ __forceinline__ i64 products_offset(i64 pitch) {
    return input_line(matrices, 0, pitch);
}
__device__ __forceinline__ i64 product_line(int matrix, int column, i64 pitch) {
    return (static_cast<i64>(matrix) * columns + column) * pitch;
}
/// Of an output channel of a group; the phases count from the first of their classes.
__device__ __forceinline__ int column_of(int channel, int phase_d, int phase_h, int phase_w) {
    return ((channel * AxisD::columns + phase_d) * AxisH::columns + phase_h) * AxisW::columns + phase_w;
}

/// The batch goes in `parts`, one after the other in the same workspace: the entries of one, counted from `first`.
struct PartNumber {
    i64 value;
};
struct Part {
    i64 first;
    i64 entries;  // none past the last
    __device__ __forceinline__ Part(PartNumber number, int batch) {
        const i64 most = (batch + config::parts - 1) / config::parts;
        first = number.value * most;
        const i64 left = batch - first;
        entries = left < 0 ? 0 : left < most ? left : most;
    }
    __device__ __forceinline__ i64 rows() const { return entries * tiles; }
};

/// A row is a tile of a batch entry.
struct Row {
    i64 entry;
    int d, h, w;
};
__device__ __forceinline__ Row row_at(i64 number) {
    int rest = static_cast<int>(number % tiles);
    const int w = rest % AxisW::tiles;
    rest /= AxisW::tiles;
    return {number / tiles, rest / AxisH::tiles, rest % AxisH::tiles, w};
}

/// Calls body(class along the depth, height, width) for a number of a class of three axes.
template <class Body>
__device__ __forceinline__ void with_classes(int number, const Body& body) {
    toom_cook::for_each_number<AxisD::classes>([&](auto d) {
        toom_cook::for_each_number<AxisH::classes>([&](auto h) {
            toom_cook::for_each_number<AxisW::classes>([&](auto w) {
                constexpr int d_number = decltype(d)::value;
                constexpr int h_number = decltype(h)::value;
                constexpr int w_number = decltype(w)::value;
                constexpr int own = (d_number * AxisH::classes + h_number) * AxisW::classes + w_number;
                if (classes == 1 || number == own) {
                    body(typename AxisD::template Class<d_number>{}, typename AxisH::template Class<h_number>{},
                         typename AxisW::template Class<w_number>{});
                }
            });
        });
    });
}

}  // namespace tconv::winograd
