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
using toom_cook::apply_to_axes;
using toom_cook::Filter;

constexpr int in_group = static_cast<int>(problem::in_channels / problem::groups);
constexpr int out_group = static_cast<int>(problem::out_channels / problem::groups);
constexpr int groups = static_cast<int>(problem::groups);

template <i64 Input, i64 Output, i64 Kernel, i64 Stride, i64 Padding, int Tile, bool Apart>
struct Axis {
    static constexpr int input = static_cast<int>(Input);
    static constexpr int output = static_cast<int>(Output);
    static constexpr int kernel = static_cast<int>(Kernel);
    static constexpr int stride = static_cast<int>(Stride);
    static constexpr int tile = Tile;
    static constexpr int before = static_cast<int>(Padding % Stride);
    /// Outputs before the first that the first position would have.
    static constexpr int lead = Apart ? 0 : before;
    static constexpr int first_input = static_cast<int>(Padding / Stride);
    static constexpr int positions = (output + lead + stride - 1) / stride;
    /// Phases of the first class.
    static constexpr int split = !Apart        ? stride
                                 : before != 0 ? stride - before
                                               : (kernel % stride != 0 ? kernel % stride : stride);
    static constexpr int classes = split < stride ? 2 : 1;

    /// Phase of the position's input that a phase is, and how many inputs later it is.
    __device__ static constexpr int first_tap(int phase) { return Apart ? (phase + before) % stride : phase; }
    __device__ static constexpr int shift(int phase) { return Apart ? (phase + before) / stride : 0; }
    __device__ static constexpr int taps(int phase) {
        return first_tap(phase) < kernel ? (kernel - first_tap(phase) - 1) / stride + 1 : 0;
    }
    __device__ static constexpr int most_taps(int first, int count) {
        int most = 1;
        for (int phase = first; phase < first + count; ++phase)
            most = taps(phase) > most ? taps(phase) : most;
        return most;
    }

    /// Taps that are not filtered but summed up as input channels are: those of an axis whose tiles are one position.
    static constexpr int kept = Tile == 1 ? most_taps(0, stride) : 1;
    /// The first `kept - 1` are positions before the first: their inputs are read by the taps of others.
    static constexpr int tiles = (positions + tile - 1) / tile + kept - 1;

    /// What is a constant of a class, and what is not where both are alike.
    template <int Number>
    struct Class {
        static constexpr int phases = Number == 0 ? split : stride - split;
        static constexpr int taps = Tile == 1 ? 1 : most_taps(Number == 0 ? 0 : split, phases);
        static constexpr int points = Tile + taps - 1;
        using Transform = Filter<Tile, taps>;
        int phase;         // its first
        int point;         // number of its first point among the axis'
        int first_window;  // first input of the first tile
    };
    static constexpr int first_points = Class<0>::points;
    static constexpr int points = first_points + (classes == 2 ? Class<1>::points : 0);
    static constexpr bool alike =
        classes == 2 && first_points == Class<1>::points && Class<0>::phases == Class<1>::phases;
    template <int Number>
    __device__ static constexpr Class<Number> class_at(int number) {
        const int phase = number == 0 ? 0 : split;
        return {phase, number == 0 ? 0 : first_points,
                first_input + shift(phase) - (kept - 1) - (Class<Number>::taps - 1)};
    }
    /// body(the class of that number).
    template <class Body>
    __device__ __forceinline__ static void with_class(int number, const Body& body) {
        if (classes == 1 || alike || number == 0) {
            body(class_at<0>(number));
        } else {
            if constexpr (classes == 2 && !alike) body(class_at<1>(1));
        }
    }
    /// Phases that a column tells apart: those of the larger class.
    static constexpr int columns = split > stride - split ? split : stride - split;
};
#define TCONV_AXIS(axis, number)                                                                        \
    Axis<problem::input_##axis, problem::output_##axis, problem::kernel_##axis, problem::stride_##axis, \
         problem::padding_##axis, config::tile_##axis, (config::apart_axes >= number)>
using AxisD = TCONV_AXIS(d, 3);
using AxisH = TCONV_AXIS(h, 2);
using AxisW = TCONV_AXIS(w, 1);
#undef TCONV_AXIS

constexpr int points = AxisD::points * AxisH::points * AxisW::points;
/// Tiles of one place along the depth: whole quads where taps along the depth are kept, which read rows that lie so far
/// apart.
constexpr int plane =
    AxisD::kept == 1 ? AxisH::tiles * AxisW::tiles : (AxisH::tiles * AxisW::tiles + k_quad - 1) / k_quad * k_quad;
constexpr int tiles = AxisD::tiles * plane;
/// What a product sums up over.
constexpr int depth = AxisD::kept * in_group;
static_assert(AxisH::kept == 1 && AxisW::kept == 1, "taps along the height and the width are filtered");
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
__device__ __forceinline__ i64 weight_line(int matrix, int kept_tap, int channel) {
    return (static_cast<i64>(matrix) * depth + kept_tap * in_group + channel) * column_pitch;
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

/// Stores a class's transformed points, of which the first one's goes to `target`: offset_of(how many matrices later).
template <class D, class H, class W, class Offset>
__device__ __forceinline__ void store_points(const float (&values)[D::points * H::points * W::points], float* target,
                                             const Offset& offset_of) {
#pragma unroll
    for (int d = 0; d < D::points; ++d) {
#pragma unroll
        for (int h = 0; h < H::points; ++h) {
#pragma unroll
            for (int w = 0; w < W::points; ++w)
                target[offset_of(matrix_of(0, d, h, w))] = values[(d * H::points + h) * W::points + w];
        }
    }
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
    /// Fewer than 2^31: no memory holds more.
    __device__ __forceinline__ int rows() const { return static_cast<int>(entries * tiles); }
};

/// A row is a tile of a batch entry.
struct Row {
    i64 entry;
    int d, h, w;
};
__device__ __forceinline__ Row row_at(int number) {
    const int of_entry = number % tiles;
    const int of_plane = of_entry % plane;
    return {number / tiles, of_entry / plane, of_plane / AxisW::tiles, of_plane % AxisW::tiles};
}

/// A thread's number among rows of several lines.
struct Place {
    int line;
    int row;
};
__device__ __forceinline__ Place place_of(i64 number, int rows) {
    // Division of 64-bit numbers costs as much as the transform of a short tile.
    if (number < 0x80000000ll) {
        const u32 small = static_cast<u32>(number);
        const u32 line = small / static_cast<u32>(rows);
        return {static_cast<int>(line), static_cast<int>(small - line * static_cast<u32>(rows))};
    }
    return {static_cast<int>(number / rows), static_cast<int>(number % rows)};
}

/// body(class along the depth, height, width) of a number of them.
template <class Body>
__device__ __forceinline__ void with_classes(int number, const Body& body) {
    AxisD::with_class(number / (AxisH::classes * AxisW::classes), [&](auto d) {
        AxisH::with_class(number / AxisW::classes % AxisH::classes,
                          [&](auto h) { AxisW::with_class(number % AxisW::classes, [&](auto w) { body(d, h, w); }); });
    });
}

}  // namespace tconv::winograd
