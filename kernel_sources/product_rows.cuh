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

    __device__ __forceinline__ bool is_inside(const Line& line) const {
        return (target.inside >> line.d & 1) != 0 && (target.inside >> (16 + line.h) & 1) != 0;
    }
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

/// Which rows are staged: those of channels that follow each other, at phases (d, h).
struct ChannelLines {
    static constexpr bool one_round = true;
    Line first;
    __device__ __forceinline__ Line line(int number) const { return {first.channel + number, first.d, first.h}; }
    /// Elements from one line to the one `count` further.
    __device__ __forceinline__ Index distance(int, int count) const {
        return count * static_cast<Index>(output_volume);
    }
};

/// Packed columns: the rows of all channels at all phases along depth and height.
struct PackedLines {
    static constexpr bool one_round = rounds == 1;
    static constexpr int round_rows = staged_rows / rounds;
    __device__ __forceinline__ Line line(int number) const {
        return {number % round_rows, number / round_rows / AxisH::block_phases,
                number / round_rows % AxisH::block_phases};
    }
    __device__ __forceinline__ Index distance(int number, int count) const {
        return line_offset(line(number + count)) - line_offset(line(number));
    }
};

/// Calls write(from, piece, phase, target, staged) for each piece of each segment of `count` staged rows; target is of
/// the segment's first element, staged of the row's. EDGES: for pieces of which windows have none but at the ends of a
/// row.
template <int Pieces, bool Edges, class Lines, class Write>
__device__ __forceinline__ void for_each_piece(const Staging& staging, Element* output, int count, const Lines& lines,
                                               const Write& write) {
    constexpr int places = segments * Pieces;
    constexpr int most = places < 32 ? 32 / places : 1;
    constexpr int together = most < staged_rows ? most : staged_rows;
    constexpr int passes = (together * places + 31) / 32;
    constexpr int unrolled = segments == 1 && passes <= 4 ? passes : 1;
    const StagedSegment only = staged_segment(staging, 0);
#pragma unroll unrolled
    for (int pass = 0; pass < passes; ++pass) {
        const int i = pass * 32 + staging.lane;
        if (together * places % 32 != 0 && i >= together * places) break;
        const int place = together == 1 ? i : i % places;
        const int first = together == 1 ? 0 : i / places;
        const StagedSegment from = segments == 1 ? only : staged_segment(staging, place / Pieces);
        const int piece = segments == 1 ? place : place % Pieces;
        if (from.begin >= from.end || (Edges && window > 0 && !from.ends_row())) continue;
        if (Lines::one_round && !from.is_inside(lines.line(first))) continue;
        const Index before = line_offset(lines.line(first));
        Element* row = held(output + from.target.offset + before);
        const u32 row_phase = from.target.phase + static_cast<u32>(before);
#pragma unroll 8
        for (int step = 0; step < (staged_rows + together - 1) / together; ++step) {
            const int number = first + step * together;
            if (number >= count) break;
            const Line line = lines.line(number);
            if (!Lines::one_round && !from.is_inside(line)) continue;
            const Index distance = lines.distance(first, step * together);
            const int phase =
                shifted ? static_cast<int>((row_phase + static_cast<u32>(distance)) % store_vector) : shift;
            write(from.window_of(line), piece, phase, row + distance, staging.elements + row_begin(number));
        }
    }
}

/// Vectors are numbered from the last boundary before the segment on, so that each has its place in shared memory
/// whatever the phase.
template <int Vector, class Lines>
__device__ __forceinline__ void write_vectors(const Staging& staging, Element* output, int count, const Lines& lines) {
    for_each_piece<(segment * unit + Vector - 1) / Vector, false>(
        staging, output, count, lines,
        [](const StagedSegment& from, int number, int phase, Element* target, const Element* staged) {
            const int first = number * Vector;
            const int lead = phase % Vector;
            const Element* source = staged + staged_place(from.number * segment_pitch + phase - lead + first);
            copy_elements_if<Vector>(first - from.begin >= lead && first + Vector - from.end <= lead,
                                     target + (first - lead) * static_cast<Index>(unit_step), source);
        });
}

/// The elements of a row's first and last vector where these are not whole: piece `number` is that one of a vector.
template <int Vector, class Lines>
__device__ __forceinline__ void write_edges(const Staging& staging, Element* output, int count, const Lines& lines) {
    for_each_piece<Vector, true>(
        staging, output, count, lines,
        [](const StagedSegment& from, int number, int phase, Element* target, const Element* staged) {
            const auto write = [&](int element) {
                if (element >= from.begin && element < from.end)
                    target[element] = staged[staged_place(from.number * segment_pitch + phase + element)];
            };
            const int head = ((from.begin + phase) & -Vector) - phase;
            const int tail = ((from.end + phase) & -Vector) - phase;
            if (head < from.begin || tail == head) write(head + number);
            if (tail > head) write(tail + number);
        });
}

/// Where the tensor is less aligned than its rows, vectors are written element by element.
template <class Lines>
__device__ __forceinline__ void write_lines(const Staging& staging, Element* output, bool aligned, int count,
                                            const Lines& lines) {
    if (!shifted && !aligned) {
        write_vectors<1>(staging, output, count, lines);
        return;
    }
    write_vectors<store_vector>(staging, output, count, lines);
    if constexpr ((shifted || shift != 0) && store_vector > 1) write_edges<store_vector>(staging, output, count, lines);
}

/// Row `i` holds channel `first_channel + i` at phases (d, h).
__device__ __forceinline__ void write_rows(const Staging& staging, Element* output, bool aligned, int first_channel,
                                           int count, int d, int h) {
    write_lines(staging, output, aligned, count, ChannelLines{{first_channel, d, h}});
}

__device__ __forceinline__ void write_packed_rows(const Staging& staging, Element* output, bool aligned) {
    write_lines(staging, output, aligned, staged_rows, PackedLines{});
}

}  // namespace tconv::product
