// Staged rows of a warp to the output, in vectors. A lane takes the same piece of many rows, so that where it goes is
// worked out once; where a row has few pieces, rows lie side by side in the warp.
#pragma once

#include "product_stage.cuh"

namespace tconv::product {

/// A segment, and which of its elements lie inside the output.
struct StagedSegment {
    Segment target;
    int begin, end;
    int number;

    __device__ __forceinline__ bool ends_row() const { return target.out_w <= 0 || end < segment * unit; }
    /// The part that the warp writes: of a window what begins at a boundary, but all at the row's ends.
    __device__ __forceinline__ StagedSegment window_of(const Line& line) const {
        if constexpr (window == 0) return *this;
        constexpr int step = (segment - overlap) * unit;
        const int lead = -phase_in<(window > 0 ? window : 1)>(target.phase, line) & (window - 1);
        const int first = target.out_w <= 0 ? begin : lead;
        return {target, first, end < step + lead ? end : step + lead, number};
    }
};
__device__ __forceinline__ StagedSegment staged_segment(const Staging& staging, int number) {
    constexpr int width = channels_last ? out_group : 1;  // elements of an output position
    constexpr int all = segment * unit;
    const Segment target = staging.table[number];
    if (target.inside == 0 || target.out_w >= AxisW::output) return {target, 0, 0, number};
    const Index past = (AxisW::output - target.out_w + unit_step - 1) / unit_step * width;
    const int begin = target.out_w < 0 ? static_cast<int>(-target.out_w * width) : 0;
    return {target, begin, past < all ? static_cast<int>(past) : all, number};
}

/// Calls write(from, piece, line, phase, target, staged) for each piece of each segment of `count` staged rows; target
/// and staged are of the row's first element. EDGES: for pieces of which windows have none but at the ends of a row.
/// line_of says which rows they are.
template <int Pieces, bool Edges, class Lines, class Write>
__device__ __forceinline__ void for_each_piece(const Staging& staging, Element* output, int count, const Lines& line_of,
                                               const Write& write) {
    constexpr int places = segments * Pieces;
    constexpr int most = places < 32 ? 32 / places : 1;
    constexpr int together = most < staged_rows ? most : staged_rows;
#pragma unroll 1
    for (int i = threadIdx.x % 32; i < together * places; i += 32) {
        const StagedSegment from = staged_segment(staging, i % places / Pieces);
        if (from.begin >= from.end || (Edges && window > 0 && !from.ends_row())) continue;
        Element* row = output + from.target.offset;
        const Element* staged = staging.elements + from.number * segment_pitch;
#pragma unroll 4
        for (int step = 0; step < (staged_rows + together - 1) / together; ++step) {
            const int k = i / places + step * together;
            if (k >= count) break;
            const Line line = line_of(k);
            if ((from.target.inside >> line.d & 1) == 0 || (from.target.inside >> (16 + line.h) & 1) == 0) continue;
            const int phase = phase_of(from.target.phase, line);
            write(from.window_of(line), i % Pieces, phase, row + line_offset(line), staged + k * staging_pitch + phase);
        }
    }
}

template <int Vector, class Lines>
__device__ __forceinline__ void write_vectors(const Staging& staging, Element* output, int count,
                                              const Lines& line_of) {
    for_each_piece<segment * unit / Vector, false>(
        staging, output, count, line_of,
        [](const StagedSegment& from, int number, int phase, Element* target, const Element* staged) {
            const int first = vector_of<Vector>(from.begin, from.end, phase, number);
            if (first >= 0) copy_elements<Vector>(target + first * static_cast<Index>(unit_step), staged + first);
        });
}

/// Where the tensor is less aligned than its rows, vectors are written element by element.
template <class Lines>
__device__ __forceinline__ void write_lines(const Staging& staging, Element* output, bool aligned, int count,
                                            const Lines& line_of) {
    if (!shifted && !aligned) {
        write_vectors<1>(staging, output, count, line_of);
        return;
    }
    write_vectors<store_vector>(staging, output, count, line_of);
    if constexpr ((shifted || shift != 0) && store_vector > 1)
        for_each_piece<edge_pieces<store_vector>, true>(
            staging, output, count, line_of,
            [](const StagedSegment& from, int number, int phase, Element* target, const Element* staged) {
                const Piece piece = edge_piece<store_vector>(from.begin, from.end, phase, number);
                copy_piece<store_vector>(target + piece.first, staged + piece.first, piece.size);
            });
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
