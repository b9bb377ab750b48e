// What a block of the few_mma family computes: which outputs, from which inputs, and how both lie in its warps.
//
// The outer axis (the depth, or the height of images) is walked along, one line of inputs at a time: a plane or a row.
// A unit is all phases of one position along the axes within a line; a block's tile is some units of some batch
// entries.
#pragma once

#include "box_axis.cuh"
#include "warp_mma.cuh"

namespace tconv::few_mma {

using box::ceil_div;
using box::floor_div;

#define TCONV_AXIS(axis)                                                                                         \
    box::Axis<problem::kernel_##axis, problem::stride_##axis, problem::padding_##axis, problem::dilation_##axis, \
              problem::input_##axis, problem::output_##axis, 1, 0>
using AxisD = TCONV_AXIS(d);
using AxisH = TCONV_AXIS(h);
using AxisW = TCONV_AXIS(w);
#undef TCONV_AXIS

/// The axis that is walked along, and the one across it within a line, which is trivial in images.
constexpr bool walk_depth = config::walk_depth != 0;
using Walk = Either<walk_depth, AxisD, AxisH>::type;
using Rows = Either<walk_depth, AxisH, AxisD>::type;

constexpr bool channels_last = problem::channels_last;
constexpr int in_channels = static_cast<int>(problem::in_channels);
constexpr int out_channels = static_cast<int>(problem::out_channels);
constexpr Index input_volume = AxisD::input * AxisH::input * AxisW::input;
constexpr Index output_volume = AxisD::output * AxisH::output * AxisW::output;
constexpr Index input_line = walk_depth ? AxisH::input * AxisW::input : AxisW::input;
constexpr Index output_line = walk_depth ? AxisH::output * AxisW::output : AxisW::output;

// Columns of the product for one tap along the walk: [tap within a line][output channel].
constexpr int line_taps = Rows::kernel * AxisW::kernel;
constexpr int columns = line_taps * out_channels;
constexpr int column_tiles = (columns + 7) / 8;

// A line adds to `reach` lines of the output, of which the first `stride` are then complete.
constexpr int stride = Walk::outputs;
constexpr int reach = static_cast<int>((Walk::kernel - 1) * Walk::dilation) + 1;
constexpr int flushed = stride < reach ? stride : reach;
constexpr int warm_lines = (reach - 1) / stride;
constexpr int all_steps = static_cast<int>(ceil_div(Walk::output + Walk::padding, stride));

// Operands: words of one TF32 number or of two 16-bit ones.
constexpr bool native = problem::element_bytes == 2;
constexpr bool split = config::math == 3;
constexpr int word_channels = config::math == 1 ? 1 : 2;
constexpr int parts = split ? 2 : 1;
using Operand = Either<native, Element, Either<split, bf16, tf32>::type>::type;

// A lane has words of four of the warp's lanes' channels: `chunk_words` of them are multiplied at a time.
constexpr int load_width = config::load_vector;
constexpr int chunk_words = config::chunk_words;
/// The next chunk is loaded before the one at hand is multiplied, not after it.
constexpr bool ahead = config::ahead != 0;
/// Operands that are plain copies of what was loaded have registers of their own.
constexpr bool held = config::held != 0;
constexpr int chunks = (in_channels + 4 * word_channels * chunk_words - 1) / (4 * word_channels * chunk_words);
constexpr int words = chunks * chunk_words;
constexpr bool padded = words * 4 * word_channels > in_channels;
/// Words of one channels-last vector.
constexpr int vector_words = channels_last ? load_width / word_channels : 1;

/// The channel that is element `element` of word `word` of a lane, the `quarter`-th of its four.
__device__ constexpr int channel_of(int quarter, int word, int element) {
    if (channels_last) {
        return (word / vector_words * 4 + quarter) * load_width + word % vector_words * word_channels + element;
    }
    return (4 * word + quarter) * word_channels + element;
}

/// Inputs along an axis that a tile's units need, from a multiple of Align on; all of a short axis.
template <class A, int Tiles, int Align>
struct Span {
    static constexpr int tile = static_cast<int>(ceil_div(ceil_div(A::threads, Tiles), Align)) * Align;
    static constexpr int tiles = static_cast<int>(ceil_div(A::threads, tile));
    static constexpr int lead = A::first - static_cast<int>(floor_div(A::first, Align)) * Align;
    static constexpr int needed = static_cast<int>(ceil_div(lead + tile + A::window - 1, Align)) * Align;
    static constexpr int whole = static_cast<int>(ceil_div(A::input < needed ? A::input : needed, Align)) * Align;
    static constexpr bool clipped = tiles == 1 && A::input <= needed;
    static constexpr int inputs = clipped ? whole : needed;
    /// Where the inputs of a tile whose first unit is `unit` begin, and input `number` of a unit's window among them.
    __device__ static constexpr Index origin(Index unit) { return clipped ? 0 : unit + A::first - lead; }
    __device__ static constexpr int local(int unit, int number) {
        return clipped ? unit + A::first + number : unit + lead + number;
    }
};
constexpr int align = channels_last ? 1 : load_width;
using SpanR = Span<Rows, config::tiles_r, 1>;
using SpanW = Span<AxisW, config::tiles_w, align>;
constexpr int tile_n = config::tile_n;
constexpr int walk_tiles_asked = config::walk_tiles;
constexpr int walk_tile = (all_steps + walk_tiles_asked - 1) / walk_tiles_asked;
constexpr int walk_tiles = (all_steps + walk_tile - 1) / walk_tile;

constexpr int positions = tile_n * SpanR::inputs * SpanW::inputs;
constexpr int units = tile_n * SpanR::tile * SpanW::tile;
/// Fragments of 16 positions of a warp. A lane has `lane_positions` neighbours: 0, 1 are rows g and g + 8 of the first.
constexpr int m_fragments = config::m_fragments;
constexpr int lane_positions = 2 * m_fragments;
constexpr int warps = (positions + 16 * m_fragments - 1) / (16 * m_fragments);
constexpr int threads = 32 * warps;

/// Sums of a line: [output line][column tile][fragment], as the tensor cores have them.
using Sums = float[reach][column_tiles][m_fragments][4];

// Shared memory: weights as lanes read them, then complete lines of the output, [line][column][position]. The pitch
// keeps the lanes of a warp in different banks.
constexpr int weight_vector = chunk_words % 4 == 0 ? 4 : 2;
constexpr int weight_words = Walk::kernel * column_tiles * words * parts * 32;
constexpr int pitch = 16 * m_fragments * warps + 4;
constexpr int stage_floats = flushed * columns * pitch;
constexpr int buffers = config::buffers;

/// A block's place: first batch entry, first step, first units.
struct Tile {
    int entry;
    int step;
    Index row, column;
};

__device__ __forceinline__ Tile this_tile() {
    u32 number = blockIdx.x;
    const auto digit = [&](int count) {
        const u32 rest = number / static_cast<u32>(count);
        const u32 value = number - rest * static_cast<u32>(count);
        number = rest;
        return static_cast<int>(value);
    };
    Tile tile{};
    tile.column = static_cast<Index>(digit(SpanW::tiles)) * SpanW::tile;
    tile.row = static_cast<Index>(digit(SpanR::tiles)) * SpanR::tile;
    tile.step = digit(walk_tiles) * walk_tile;
    tile.entry = static_cast<int>(number) * tile_n;
    return tile;
}

}  // namespace tconv::few_mma
