// A warp's accumulators to the output: biased and rounded, through a part of shared memory of its own, so that it
// writes whole vectors and lines.
#pragma once

#include "product_rows.cuh"

namespace tconv::product {

__device__ __forceinline__ float bias_at(const Element* bias, const Place& place, int channel) {
    if constexpr (!problem::bias) return 0.0f;
    return channel < out_group ? to_float(load_readonly(bias + place.group * out_group + channel)) : 0.0f;
}

/// Rows of fragments of this lane, columns lane % 4 * 2 and the next.
__device__ __forceinline__ int row_of(int m, int i) {
    return m * 16 + lane_row(i / 2);
}
__device__ __forceinline__ int column_of(int i) {
    return threadIdx.x % 4 * 2 + i % 2;
}

/// Phases of the segments that the rows of a lane's sums are in.
struct RowPhases {
    u32 v[m_fragments][4];
};
__device__ __forceinline__ RowPhases row_phases(const Staging& staging) {
    RowPhases phases{};
    if constexpr (shifted) {
#pragma unroll
        for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
                phases.v[m][i] = staging.table[row_of(m, i) / segment].phase;
        }
    }
    return phases;
}

/// Stages neighbours, in pairs where they lie at a multiple of two.
template <bool Pairs, int N>
__device__ __forceinline__ void put_values(Element* target, const Element (&values)[N]) {
    constexpr int step = Pairs ? 2 : 1;
#pragma unroll
    for (int i = 0; i < N; i += step) {
        if constexpr (Pairs) {
            put_pair(target + i, values[i], values[i + 1]);
        } else {
            target[i] = values[i];
        }
    }
}

/// N elements that are written in one access.
template <int N>
struct alignas(N * sizeof(Element)) Elements {
    Element v[N];
};

/// Channels first: for each phase along depth and height and each fragment of channels, rows of all phases along w.
__device__ __forceinline__ void store_rows(const Sums& sums, const Staging& staging, const Element* bias,
                                           Element* output, const Place& place, int first_channel, bool aligned) {
    const RowPhases phases = row_phases(staging);
    constexpr bool pairs = !shifted && shift % 2 == 0 && AxisW::block_phases % 2 == 0;
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
                        Element* target = staging.elements + staged_element(column_of(i), row_of(m, i)) +
                                          phase_of(phases.v[m][i], {channel + column_of(i), d, h});
                        Element values[AxisW::block_phases];
#pragma unroll
                        for (int w = 0; w < AxisW::block_phases; ++w) {
                            const int index_w = AxisW::tapped_index(w);
                            const int index =
                                (AxisD::tapped_index(d) * AxisH::tapped + AxisH::tapped_index(h)) * AxisW::tapped +
                                index_w;
                            const float sum = tapped && index_w >= 0 ? sums[m][index < 0 ? 0 : index][n][i] : 0.0f;
                            values[w] = from_float<Element>(sum + biases[i % 2]);
                        }
                        put_values<pairs>(target, values);
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
    const RowPhases phases = row_phases(staging);
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
            const Line line{channel, round / AxisH::block_phases, round % AxisH::block_phases};
            const float offset = bias_at(bias, place, channel);
#pragma unroll
            for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
                for (int i = side; i < 4; i += 2)
                    staging.elements[staged_element(row, row_of(m, i)) + phase_of(phases.v[m][i], line) + element] =
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
