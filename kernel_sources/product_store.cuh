// A warp's accumulators to the output: biased and rounded, through a part of shared memory of its own, so that it
// writes whole vectors and lines.
#pragma once

#include "product_rows.cuh"

namespace tconv::product {

/// Every block has whole channels: none of its lanes looks for the group's end.
constexpr bool whole_channels = out_group % block_channels == 0;

__device__ __forceinline__ float bias_at(const Element* bias, const Place& place, int channel) {
    if constexpr (!problem::bias) return 0.0f;
    const bool exists = whole_channels || channel < out_group;
    return exists ? to_float(load_readonly(bias + place.group * out_group + channel)) : 0.0f;
}

/// Row of the warp that sum `i` of fragment `m` belongs to.
__device__ __forceinline__ int row_of(int m, int i) {
    return row_number(m, fragment_row(i));
}

/// Phases of the segments that the rows of a lane's sums are in.
struct RowPhases {
    u32 v[m_fragments][fragment_sums];
};
__device__ __forceinline__ RowPhases row_phases(const Staging& staging) {
    RowPhases phases{};
    if constexpr (shifted) {
#pragma unroll
        for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
            for (int i = 0; i < fragment_sums; ++i)
                phases.v[m][i] = staging.table[segments == 1 ? 0 : row_of(m, i) / segment].phase;
        }
    }
    return phases;
}

/// Stages neighbours, `Step` at a time where they lie at a multiple of that.
template <int Step, int N>
__device__ __forceinline__ void put_values(Element* target, const Element (&values)[N]) {
#pragma unroll
    for (int i = 0; i < N; i += Step) {
        if constexpr (Step == 4) {
            put_quad(target + i, values + i);
        } else if constexpr (Step == 2) {
            put_pair(target + i, values[i], values[i + 1]);
        } else {
            target[i] = values[i];
        }
    }
}

__device__ constexpr int make_put_step() {
    if (shifted || shift % 2 != 0 || run_values % 2 != 0) return 1;
    const bool quads =
        row_vector > 1 && shift % 4 == 0 && run_values % 4 == 0 && segment_pitch % 4 == 0 && staging_pitch % 4 == 0;
    return quads ? 4 : segment_pitch % 2 == 0 || row_vector == 1 ? 2 : 1;
}
constexpr int put_step = make_put_step();

/// Vectors of shared memory that a run of a lane lies in, wherever it begins in the first.
constexpr int run_vectors = stages_runs ? (run_values + 3) / 4 + 1 : 1;
struct RunPlaces {
    int v[run_vectors];
};
__device__ __forceinline__ RunPlaces run_places(int row) {
    RunPlaces places;
#pragma unroll
    for (int i = 0; i < run_vectors; ++i)
        places.v[i] = staged_place(row_element(row) + 4 * i);
    return places;
}
/// Those of all runs of a lane.
struct LanePlaces {
    RunPlaces of[m_fragments / row_vector];
};
__device__ __forceinline__ LanePlaces lane_places() {
    LanePlaces places{};
#pragma unroll
    for (int m = 0; stages_runs && m < m_fragments; m += row_vector)
        places.of[m / row_vector] = run_places(held(row_of(m, 0)));
    return places;
}

/// Elements of the access that begins at word `word` of the vectors of a run which begins at word `phase`.
__device__ constexpr int run_access(int word, int phase) {
    const auto inside = [phase](int first, int count) { return first >= phase && first + count <= phase + run_values; };
    if (inside(word / 4 * 4, 4)) return word % 4 == 0 ? 4 : 0;
    if (inside(word / 2 * 2, 2)) return word % 2 == 0 ? 2 : 0;
    return inside(word, 1) ? 1 : 0;
}

/// Stages a run that begins at element PHASE of its first vector: value_of gives the values.
template <int Phase, class Values>
__device__ __forceinline__ void put_run_at(Element* row, const RunPlaces& places, const Values& value_of) {
#pragma unroll
    for (int word = 0; word < 4 * run_vectors; ++word) {
        Element* target = row + places.v[word / 4] + word % 4;
        const int value = word - Phase;
        if (run_access(word, Phase) == 4) {
            const Element quad[4] = {value_of(value), value_of(value + 1), value_of(value + 2), value_of(value + 3)};
            put_quad(target, quad);
        } else if (run_access(word, Phase) == 2) {
            put_pair(target, value_of(value), value_of(value + 1));
        } else if (run_access(word, Phase) == 1) {
            *target = value_of(value);
        }
    }
}
template <class Values>
__device__ __forceinline__ void put_run(Element* row, const RunPlaces& places, int phase, const Values& value_of) {
    if constexpr (!shifted) {
        put_run_at<shift>(row, places, value_of);
    } else if (phase == 0) {
        put_run_at<0>(row, places, value_of);
    } else if (phase == 1) {
        put_run_at<1>(row, places, value_of);
    } else if (phase == 2) {
        put_run_at<2>(row, places, value_of);
    } else {
        put_run_at<3>(row, places, value_of);
    }
}

/// N elements that are written in one access.
template <int N>
struct alignas(N * sizeof(Element)) Elements {
    Element v[N];
};

/// Stages fragment `n` of channels, `channel` on, at phases (d, h): rows of all phases along w.
__device__ __forceinline__ void stage_fragment(const Sums& sums, const Staging& staging, const RowPhases& phases,
                                               const LanePlaces& places, const float (&biases)[fragment_sums], int n,
                                               int channel, int d, int h) {
    const bool tapped = AxisD::tapped_index(d) >= 0 && AxisH::tapped_index(h) >= 0;
    const int first = (AxisD::tapped_index(d) * AxisH::tapped + AxisH::tapped_index(h)) * AxisW::tapped;
#pragma unroll
    for (int m = 0; m < m_fragments; m += row_vector) {
#pragma unroll
        for (int i = 0; i < fragment_sums; ++i) {
            const auto value_of = [&](int value) {
                const int index = AxisW::tapped_index(value % AxisW::block_phases);
                const bool any = tapped && index >= 0;
                const float sum = any ? sums[m + value / AxisW::block_phases][any ? first + index : 0][n][i] : 0.0f;
                // Without a bias, too: else sums lie in the vectors in which they are staged, between others, all
                // along.
                return from_float<Element>(sum + biases[i]);
            };
            const int phase = phase_of(phases.v[m][i], {channel + fragment_column(i), d, h});
            if constexpr (stages_runs) {
                put_run(staging.elements + row_begin(fragment_column(i)), places.of[m / row_vector], phase, value_of);
            } else {
                Element values[run_values];
#pragma unroll
                for (int value = 0; value < run_values; ++value)
                    values[value] = value_of(value);
                put_values<put_step>(staging.elements + staged_element(fragment_column(i), row_of(m, i)) + phase,
                                     values);
            }
        }
    }
}

/// Channels first: for each phase along depth and height and each fragment of channels, rows of all phases along w.
__device__ __forceinline__ void store_rows(const Sums& sums, const Staging& staging, const Element* bias,
                                           Element* output, const Place& place, int first_channel, bool aligned) {
    const RowPhases phases = row_phases(staging);
    const LanePlaces places = lane_places();
    bias = held(bias);
#pragma unroll
    for (int d = 0; d < AxisD::block_phases; ++d) {
#pragma unroll
        for (int h = 0; h < AxisH::block_phases; ++h) {
#pragma unroll
            for (int n = 0; n < n_fragments; ++n) {
                const int channel = first_channel + fragment_columns * n;
                if (!whole_channels && channel >= out_group) break;
                float biases[fragment_sums];
#pragma unroll
                for (int i = 0; i < fragment_sums; ++i)
                    biases[i] = bias_at(bias, place, channel + fragment_column(i));
                __syncwarp();
                stage_fragment(sums, staging, phases, places, biases, n, channel, d, h);
                __syncwarp();
                write_rows(staging, output, aligned, channel,
                           whole_channels ? fragment_columns : min(fragment_columns, out_group - channel), d, h);
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
        for (int i = 0; i < fragment_sums; ++i) {
            const int column = n * fragment_columns + fragment_column(i);
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
            for (int m = 0; m < m_fragments; ++m)
                staging.elements[staged_element(row, row_of(m, i)) + phase_of(phases.v[m][i], line) + element] =
                    from_float<Element>(sums[m][0][n][i] + offset);
        }
    }
    __syncwarp();
    write_packed_rows(staging, output, aligned);
}

/// Channels last: for each phase all channels of the warp, position by position.
__device__ __forceinline__ void write_channels(const Staging& staging, Element* output, bool aligned, int first_channel,
                                               int d, int h, int w) {
    constexpr int vectors = fragment_columns * n_fragments / store_vector;
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
    constexpr int run = fragment_sums % 2 == 0 ? 2 : 1;  // sums of a lane that lie behind one another
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
                for (int i = 0; i < fragment_sums; i += run) {
                    Elements<run> values;
#pragma unroll
                    for (int c = 0; c < run; ++c) {
                        const float sum = tapped ? sums[m][index < 0 ? 0 : index][n][i + c] : 0.0f;
                        values.v[c] = from_float<Element>(
                            sum + bias_at(bias, place, first_channel + n * fragment_columns + fragment_column(i + c)));
                    }
                    *reinterpret_cast<Elements<run>*>(staging.elements + row_of(m, i) * staging_pitch +
                                                      n * fragment_columns + fragment_column(i)) = values;
                }
            }
        }
        __syncwarp();
        write_channels(staging, output, aligned, first_channel, d, h, w);
    }
}

}  // namespace tconv::product
