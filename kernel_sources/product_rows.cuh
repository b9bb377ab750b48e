// Staged rows of a warp to the output, in vectors. A lane takes the same piece of many rows, so that where it goes is
// worked out once; where a row has few pieces, rows lie side by side in the warp.
#pragma once

#include "product_stage.cuh"

namespace tconv::product {

/// Pieces of SIZE elements of `count` staged rows; line_of says which they are.
template <int Vector, int Size, class Lines>
__device__ __forceinline__ void write_pieces(const Staging& staging, Element* output, int count, const Lines& line_of) {
    constexpr int pieces = Size == Vector ? segment * unit / Vector : 2;
    constexpr int places = segments * pieces;
    constexpr int most = places < 32 ? 32 / places : 1;
    constexpr int together = most < staged_rows ? most : staged_rows;
    constexpr int width = channels_last ? out_group : 1;  // elements of an output position
    for (int i = threadIdx.x % 32; i < together * places; i += 32) {
        const int number = i % places / pieces;
        const Segment target = staging.table[number];
        if (target.inside == 0 || target.out_w >= AxisW::output) continue;
        const Index past = (AxisW::output - target.out_w + unit_step - 1) / unit_step * width;
        const int begin = target.out_w < 0 ? static_cast<int>(-target.out_w * width) : 0;
        const int end = past < segment * unit ? static_cast<int>(past) : segment * unit;
        Element* row = output + target.offset;
        const Element* staged = staging.elements + number * segment_pitch;
#pragma unroll 4
        for (int k = i / places; k < count; k += together) {
            const Line line = line_of(k);
            const int phase = phase_of(target.phase, line);
            const int first = piece_of<Vector, Size>(begin, end, phase, i % pieces);
            if (first < 0 || (target.inside >> line.d & 1) == 0 || (target.inside >> (16 + line.h) & 1) == 0) continue;
            copy_elements<Size>(row + line_offset(line) + first * static_cast<Index>(unit_step),
                                staged + k * staging_pitch + phase + first);
        }
    }
}

/// Where the tensor is less aligned than its rows, vectors are written element by element.
template <class Lines>
__device__ __forceinline__ void write_lines(const Staging& staging, Element* output, bool aligned, int count,
                                            const Lines& line_of) {
    if (!shifted && !aligned) {
        write_pieces<1, 1>(staging, output, count, line_of);
        return;
    }
    constexpr bool edges = shifted || shift != 0;
    write_pieces<store_vector, store_vector>(staging, output, count, line_of);
    if constexpr (edges && store_vector > 4) write_pieces<store_vector, 4>(staging, output, count, line_of);
    if constexpr (edges && store_vector > 2) write_pieces<store_vector, 2>(staging, output, count, line_of);
    if constexpr (edges && store_vector > 1) write_pieces<store_vector, 1>(staging, output, count, line_of);
}

/// Row `i` holds channel `first_channel + i` at phases (d, h).
__device__ __forceinline__ void write_rows(const Staging& staging, Element* output, bool aligned, int first_channel,
                                           int count, int d, int h) {
    write_lines(staging, output, aligned, count, [&](int i) { return Line{first_channel + i, d, h}; });
}

/// Packed columns: the rows of all channels at all phases along depth and height.
__device__ __forceinline__ void write_packed_rows(const Staging& staging, Element* output, bool aligned) {
    constexpr int round_rows = staged_rows / rounds;
    write_lines(staging, output, aligned, staged_rows, [](int i) {
        return Line{i % round_rows, i / round_rows / AxisH::block_phases, i / round_rows % AxisH::block_phases};
    });
}

}  // namespace tconv::product
