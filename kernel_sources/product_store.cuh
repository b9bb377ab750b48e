// A warp's accumulators to the output: biased and rounded, through a part of shared memory of its own, so that it
// writes whole vectors and lines.
#pragma once

#include "product_shape.cuh"

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
constexpr int staged_rows = packed ? rounds * (channels_last ? 1 : out_group) : 8;

/// Where a segment's first position goes at phase 0 of joined axes.
struct Segment {
    i64 offset;  // in the tensor, of the group's first channel
    Index out_w;
    u32 inside;  // bit r: phase r along the depth lies inside the output; bit 16 + r: along the height
};

__device__ __forceinline__ Segment segment_of(const Place& place, int batch, int number) {
    const Position p = position_of(number);
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
    return {channels_last ? first_channel * output_volume + position * problem::out_channels + group_channel
                          : (first_channel + group_channel) * output_volume + position,
            out_w, inside};
}

/// The warp's part of shared memory.
struct Staging {
    Segment* table;
    Element* elements;
};

__device__ __forceinline__ Staging make_staging(const Place& place, int batch, int warp, int warp_m) {
    auto* bytes = dynamic_shared<unsigned char>() + config::staging_begin + warp * config::staging_bytes;
    Staging staging{reinterpret_cast<Segment*>(bytes), reinterpret_cast<Element*>(bytes + config::table_bytes)};
    for (int i = threadIdx.x % 32; i < segments; i += 32)
        staging.table[i] = segment_of(place, batch, warp_m * warp_rows + i * segment);
    return staging;
}

/// Elements before a segment's first output in its vector.
__device__ constexpr int make_shift() {
    const i64 first = (AxisW::first_position(0) * AxisW::stride - AxisW::padding) * (channels_last ? out_group : 1);
    return static_cast<int>((first % store_vector + store_vector) % store_vector);
}
constexpr int shift = make_shift();

__device__ __forceinline__ float bias_at(const Element* bias, const Place& place, int channel) {
    if constexpr (!problem::bias) return 0.0f;
    return channel < out_group ? to_float(load_readonly(bias + place.group * out_group + channel)) : 0.0f;
}

/// Element of a staged row that belongs to row `row` of the warp.
__device__ __forceinline__ int staged_element(int staged_row, int row) {
    return staged_row * staging_pitch + row / segment * segment_pitch + row % segment * unit + shift;
}

/// Rows of fragments of this lane: rows lane / 4 and lane / 4 + 8, columns lane % 4 * 2 and the next.
__device__ __forceinline__ int row_of(int m, int i) {
    return m * 16 + threadIdx.x % 32 / 4 + i / 2 * 8;
}
__device__ __forceinline__ int column_of(int i) {
    return threadIdx.x % 4 * 2 + i % 2;
}

/// N elements that are written in one access.
template <int N>
struct alignas(N * sizeof(Element)) Elements {
    Element v[N];
};

/// Writes a vector of a row: whole where it may be, else the elements that lie inside. `first` is its first element
/// within the segment.
__device__ __forceinline__ void write_vector(Element* row, const Element* staged, int first, i64 out_w, bool aligned) {
    constexpr int width = channels_last ? out_group : 1;  // elements of an output position
    const i64 begin = -out_w * width;                     // of the elements inside the output
    const i64 end = (AxisW::output - out_w + unit_step - 1) / unit_step * width;
    if constexpr (store_vector > 1) {
        if (aligned && first >= 0 && first + store_vector <= segment * unit && first >= begin &&
            first + store_vector <= end) {
            *reinterpret_cast<Elements<store_vector>*>(row + first) =
                *reinterpret_cast<const Elements<store_vector>*>(staged);
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < store_vector; ++i) {
        const int element = first + i;
        if (element >= 0 && element < segment * unit && element >= begin && element < end)
            row[element * static_cast<Index>(unit_step)] = staged[i];
    }
}

/// A vector of a segment: where it is staged in the first row, and where it goes in the row of channel 0 at phase 0.
struct RowVector {
    const Element* staged;
    Element* row;
    i64 out_w;
    int first;
    u32 inside;
};

__device__ __forceinline__ RowVector row_vector(const Staging& staging, Element* output, int index) {
    constexpr int vectors = segment_pitch / store_vector;
    const int number = index / vectors;
    const int vector_number = index % vectors;
    const Segment& target = staging.table[number];
    return {staging.elements + number * segment_pitch + vector_number * store_vector, output + target.offset,
            target.out_w, vector_number * store_vector - shift, target.inside};
}

/// Writes the vector of staged row `staged_row`, which holds `channel` at phases (d, h).
__device__ __forceinline__ void write_staged_row(const RowVector& vector, bool aligned, int staged_row, int channel,
                                                 int d, int h) {
    if ((vector.inside >> d & 1) == 0 || (vector.inside >> (16 + h) & 1) == 0) return;
    const Index line = (d * AxisH::output + h) * AxisW::output;
    const Index step = channels_last ? line * static_cast<Index>(problem::out_channels)
                                     : line + channel * static_cast<Index>(output_volume);
    write_vector(vector.row + step, vector.staged + staged_row * staging_pitch, vector.first, vector.out_w, aligned);
}

/// Row `i` holds channel `first_channel + i` at phases (d, h). A lane takes the same vector of all of them, so that
/// where it goes is worked out once; where a row has too few vectors for a warp, lanes take rows side by side.
__device__ __forceinline__ void write_rows(const Staging& staging, Element* output, bool aligned, int first_channel,
                                           int count, int d, int h) {
    constexpr int row_vectors = segments * (segment_pitch / store_vector);
    const int lane = threadIdx.x % 32;
    if constexpr (row_vectors >= 24) {
        for (int index = lane; index < row_vectors; index += 32) {
            const RowVector vector = row_vector(staging, output, index);
#pragma unroll 8
            for (int i = 0; i < count; ++i)
                write_staged_row(vector, aligned, i, first_channel + i, d, h);
        }
    } else {
        for (int index = lane; index < count * row_vectors; index += 32) {
            const int i = index / row_vectors;
            write_staged_row(row_vector(staging, output, index % row_vectors), aligned, i, first_channel + i, d, h);
        }
    }
}

/// Packed columns: the rows of all channels at all phases along depth and height.
__device__ __forceinline__ void write_packed_rows(const Staging& staging, Element* output, bool aligned) {
    constexpr int row_vectors = segments * (segment_pitch / store_vector);
    constexpr int round_rows = staged_rows / rounds;
    for (int index = threadIdx.x % 32; index < row_vectors; index += 32) {
        const RowVector vector = row_vector(staging, output, index);
#pragma unroll 4
        for (int row = 0; row < staged_rows; ++row)
            write_staged_row(vector, aligned, row, row % round_rows, row / round_rows / AxisH::block_phases,
                             row / round_rows % AxisH::block_phases);
    }
}

/// Channels first: for each phase along depth and height and each fragment of channels, rows of all phases along w.
__device__ __forceinline__ void store_rows(const Sums& sums, const Staging& staging, const Element* bias,
                                           Element* output, const Place& place, int first_channel, bool aligned) {
#pragma unroll
    for (int d = 0; d < AxisD::block_phases; ++d) {
#pragma unroll
        for (int h = 0; h < AxisH::block_phases; ++h) {
            const bool tapped = AxisD::tapped_index(d) >= 0 && AxisH::tapped_index(h) >= 0;
#pragma unroll
            for (int n = 0; n < n_fragments; ++n) {
                const int channel = first_channel + 8 * n;
                if (channel >= out_group) break;
                const float biases[2] = {bias_at(bias, place, channel + column_of(0)),
                                         bias_at(bias, place, channel + column_of(1))};
                __syncwarp();
#pragma unroll
                for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
                    for (int i = 0; i < 4; ++i) {
                        Element* target = staging.elements + staged_element(column_of(i), row_of(m, i));
#pragma unroll
                        for (int w = 0; w < AxisW::block_phases; ++w) {
                            const int index_w = AxisW::tapped_index(w);
                            const int index =
                                (AxisD::tapped_index(d) * AxisH::tapped + AxisH::tapped_index(h)) * AxisW::tapped +
                                index_w;
                            const float sum = tapped && index_w >= 0 ? sums[m][index < 0 ? 0 : index][n][i] : 0.0f;
                            target[w] = from_float<Element>(sum + biases[i % 2]);
                        }
                    }
                }
                __syncwarp();
                write_rows(staging, output, aligned, channel, min(8, out_group - channel), d, h);
            }
        }
    }
}

/// Packed columns: all rows at once. Every phase has taps.
__device__ __forceinline__ void store_packed(const Sums& sums, const Staging& staging, const Element* bias,
                                             Element* output, const Place& place, bool aligned) {
#pragma unroll
    for (int n = 0; n < n_fragments; ++n) {
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            const int column = n * 8 + column_of(side);
            const int phase = column / out_group;
            const int channel = column % out_group;
            if (phase >= joined_phases) continue;
            const int round = phase / AxisW::tapped;
            const int w = phase % AxisW::tapped;
            const int row = channels_last ? round : round * out_group + channel;
            const int element = channels_last ? w * out_group + channel : w;
            const float offset = bias_at(bias, place, channel);
#pragma unroll
            for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
                for (int i = side; i < 4; i += 2)
                    staging.elements[staged_element(row, row_of(m, i)) + element] =
                        from_float<Element>(sums[m][0][n][i] + offset);
            }
        }
    }
    __syncwarp();
    write_packed_rows(staging, output, aligned);
}

/// Channels last: for each phase all channels of the warp, position by position.
__device__ __forceinline__ void write_channels(const Staging& staging, Element* output, bool aligned, int first_channel,
                                               int d, int h, int w) {
    constexpr int vectors = 8 * n_fragments / store_vector;
    const i64 phase = ((static_cast<i64>(d) * AxisH::output + h) * AxisW::output + w) * problem::out_channels;
#pragma unroll 4
    for (int i = threadIdx.x % 32; i < warp_rows * vectors; i += 32) {
        const int number = i / vectors;
        const int column = i % vectors * store_vector;
        const Segment& target = staging.table[number];
        const Index out_w = target.out_w + w;
        if ((target.inside >> d & 1) == 0 || (target.inside >> (16 + h) & 1) == 0 || out_w < 0 ||
            out_w >= AxisW::output || first_channel + column >= out_group)
            continue;
        Element* address = output + target.offset + phase + first_channel + column;
        const Element* staged = staging.elements + number * staging_pitch + column;
        if (store_vector > 1 && aligned) {
            *reinterpret_cast<Elements<store_vector>*>(address) =
                *reinterpret_cast<const Elements<store_vector>*>(staged);
        } else {
#pragma unroll
            for (int c = 0; c < store_vector; ++c)
                address[c] = staged[c];
        }
    }
}

__device__ __forceinline__ void store_channels(const Sums& sums, const Staging& staging, const Element* bias,
                                               Element* output, const Place& place, int first_channel, bool aligned) {
    if (first_channel >= out_group) return;
#pragma unroll
    for (int phase = 0; phase < rounds * AxisW::block_phases; ++phase) {
        const int d = phase / (AxisH::block_phases * AxisW::block_phases);
        const int h = phase / AxisW::block_phases % AxisH::block_phases;
        const int w = phase % AxisW::block_phases;
        const bool tapped = AxisD::tapped_index(d) >= 0 && AxisH::tapped_index(h) >= 0 && AxisW::tapped_index(w) >= 0;
        const int index =
            (AxisD::tapped_index(d) * AxisH::tapped + AxisH::tapped_index(h)) * AxisW::tapped + AxisW::tapped_index(w);
        __syncwarp();
#pragma unroll
        for (int n = 0; n < n_fragments; ++n) {
#pragma unroll
            for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
                for (int i = 0; i < 4; i += 2) {
                    Elements<2> pair;
#pragma unroll
                    for (int side = 0; side < 2; ++side) {
                        const float sum = tapped ? sums[m][index < 0 ? 0 : index][n][i + side] : 0.0f;
                        pair.v[side] =
                            from_float<Element>(sum + bias_at(bias, place, first_channel + n * 8 + column_of(side)));
                    }
                    *reinterpret_cast<Elements<2>*>(staging.elements + row_of(m, i) * staging_pitch + n * 8 +
                                                    column_of(0)) = pair;
                }
            }
        }
        __syncwarp();
        write_channels(staging, output, aligned, first_channel, d, h, w);
    }
}

}  // namespace tconv::product
