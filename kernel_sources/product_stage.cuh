// Shared memory through which a warp stores: where its positions go in the tensor, and where they are staged.
#pragma once

#include "held.cuh"
#include "product_shape.cuh"
#include "row_store.cuh"

namespace tconv::product {

// Positions of a warp are taken in segments that are contiguous along the width. Channels first, or with packed
// columns: a segment's outputs of all phases along the width lie behind one another in a row of the tensor; `unit` of
// them belong to a position. Several such rows are staged at once. Channels last: a segment is a position, and the
// channels of the warp of one phase are staged.
constexpr bool stores_rows = !channels_last || packed;
constexpr int segment = config::segment;
constexpr int segments = warp_rows / segment;
constexpr int unit = AxisW::block_phases * (channels_last ? out_group : 1);
constexpr int unit_step = AxisW::joined ? 1 : static_cast<int>(problem::stride_w);  // between outputs of a row
constexpr int store_vector = config::store_vector;
constexpr int segment_pitch = config::segment_pitch;  // elements
constexpr int staging_pitch =
    config::staging_pitch;  // elements from one staged row (channels last: position) to the next
constexpr int rounds = AxisD::block_phases * AxisH::block_phases;
constexpr int staged_rows = packed ? rounds * (channels_last ? 1 : out_group) : fragment_columns;

/// Where a segment's first position goes at phase 0 of joined axes.
struct Segment {
    i64 offset;  // in the tensor, of the group's first channel
    Index out_w;
    u32 inside;  // bit r: phase r along the depth lies inside the output; bit 16 + r: along the height
    u32 phase;   // where rows are shifted: elements since a boundary
};

/// A staged row: outputs of one channel (with packed channels-last columns of all) at phases along depth and height.
struct Line {
    int channel, d, h;
};

__device__ __forceinline__ Segment segment_of(const Place& place, const Element* output, int batch, const Position& p) {
    const Index out_d = (place.q_d + p.d) * AxisD::stride + place.phase_d - AxisD::padding;
    const Index out_h = (place.q_h + p.h) * AxisH::stride + place.phase_h - AxisH::padding;
    const Index out_w = (place.q_w + p.w) * AxisW::stride + place.phase_w - AxisW::padding;
    u32 inside = 0;
    if (in_tile(p) && place.batch + p.n < batch) {
        for (int r = 0; r < AxisD::block_phases; ++r)
            inside |= (out_d + r >= 0 && out_d + r < AxisD::output ? 1u : 0u) << r;
        for (int r = 0; r < AxisH::block_phases; ++r)
            inside |= (out_h + r >= 0 && out_h + r < AxisH::output ? 1u : 0u) << (16 + r);
    }
    const i64 position = (static_cast<i64>(out_d) * AxisH::output + out_h) * AxisW::output + out_w;
    const i64 first_channel = static_cast<i64>(place.batch + p.n) * problem::out_channels;
    const int group_channel = place.group * out_group;
    const i64 offset = channels_last ? first_channel * output_volume + position * problem::out_channels + group_channel
                                     : (first_channel + group_channel) * output_volume + position;
    return {offset, out_w, inside, element_number(output, offset)};
}

/// The warp's part of shared memory, and the lane's number in it. What follows from them is worked out for each tile: a
/// block that takes tile after tile has no registers for it while it multiplies.
struct Staging {
    Segment* table;
    Element* elements;
    int lane;
};

__device__ __forceinline__ Staging make_staging(const Place& place, const Element* output, int batch, int warp,
                                                int warp_m) {
    auto* bytes = dynamic_shared<unsigned char>() + config::staging_begin + warp * config::staging_bytes;
    bytes = held_shared(bytes);
    const Staging staging{reinterpret_cast<Segment*>(bytes), reinterpret_cast<Element*>(bytes + config::table_bytes),
                          held(static_cast<int>(threadIdx.x % 32))};
    for (int i = staging.lane; i < segments; i += 32)
        staging.table[i] = segment_of(place, output, batch, position_of(warp_m * warp_rows + i * segment));
    return staging;
}

/// Rows are staged as they lie in their vectors. Where every row and tile begins at a boundary, so does every segment
/// but for what the padding takes off; else each segment of each row has a phase of its own.
constexpr bool shifted = config::store_shifted != 0;
/// Elements of whose multiples a warp writes a window of its rows, positions of the next warp included; 0: all outputs
/// of its own positions.
constexpr int window = config::store_window / static_cast<int>(sizeof(Element));
/// The phase of all segments where they are not shifted.
__device__ constexpr int make_shift() {
    const i64 first = (AxisW::first_position(0) * AxisW::stride - AxisW::padding) * (channels_last ? out_group : 1);
    return static_cast<int>((first % store_vector + store_vector) % store_vector);
}
constexpr int shift = make_shift();

/// Elements from a segment's first output at phase 0 of the group's first channel to that of a line.
__device__ __forceinline__ Index line_offset(const Line& line) {
    const Index step = (line.d * AxisH::output + line.h) * AxisW::output;
    return channels_last ? step * static_cast<Index>(problem::out_channels)
                         : step + line.channel * static_cast<Index>(output_volume);
}
/// Elements between the last boundary of SIZE elements and a line's segment.
template <int Size>
__device__ __forceinline__ int phase_in(u32 segment_phase, const Line& line) {
    constexpr bool same_in_all_lines = problem::output_w * (channels_last ? out_group : 1) % Size == 0;
    const u32 step = same_in_all_lines ? 0 : static_cast<u32>(line_offset(line));
    return static_cast<int>((segment_phase + step) & (Size - 1));
}
/// The same for vectors: where the segment is staged.
__device__ __forceinline__ int phase_of(u32 segment_phase, const Line& line) {
    if constexpr (!shifted) return shift;
    return phase_in<store_vector>(segment_phase, line);
}

/// Neighbours of a lane are staged together, by accesses of up to 16 bytes; lanes are so many elements apart. Multiples
/// of 8 words lie in every other bank of 16 bytes: gaps of 16 bytes, one after each 128 and one before the rows of
/// every other lane, shift some to the others.
constexpr int run_values = row_vector * AxisW::block_phases;
constexpr bool stages_runs = stores_rows && !packed && row_vector > 1 && store_vector == 4 && sizeof(Element) == 4;
constexpr bool gaps = stages_runs && run_values % 8 == 0;

/// Where an element of a staged row lies.
__device__ __forceinline__ int staged_place(int element) {
    return gaps ? element + static_cast<int>(static_cast<u32>(element) / 32 * 4) : element;
}
/// Where a staged row begins.
__device__ __forceinline__ int row_begin(int number) {
    return number * staging_pitch + (gaps ? number / fragment_sums % 2 * 4 : 0);
}

/// Element of a staged row that belongs to row `row` of the warp, but for the phase and gaps.
__device__ __forceinline__ int row_element(int row) {
    if constexpr (segments == 1) return row * unit;
    return row / segment * segment_pitch + row % segment * unit;
}

/// The same with the staged row, where there are no gaps.
__device__ __forceinline__ int staged_element(int staged_row, int row) {
    return staged_row * staging_pitch + row_element(row);
}

}  // namespace tconv::product
