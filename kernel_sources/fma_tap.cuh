// The products of one step at one offset in plain fp32 arithmetic: inputs and weights of a lane, and in which order
// they are multiplied.
#pragma once

#include "fma_shape.cuh"
#include "product_shape.cuh"

namespace tconv::product {

/// Words of weights that a lane reads at once; the lanes of a warp along the columns lie side by side.
constexpr int weight_vector = step_channels * lane_columns % 4 == 0 ? 4 : step_channels * lane_columns % 2 == 0 ? 2 : 1;
constexpr int warp_words = step_channels * lane_columns * column_lanes;

/// Words of the input that a lane reads at once: where the channels of a position lie side by side.
constexpr int input_vector = channels_last ? (step_words % 4 == 0 ? 4 : step_words % 2 == 0 ? 2 : 1) : 1;

/// A position's input of one step.
struct InputStep {
    float channel[step_channels];
};

/// A 16-bit element in half `half` of a word.
template <class T>
__device__ __forceinline__ float half_of(float word, int half) {
    return to_float(T{static_cast<u16>(__float_as_uint(word) >> (16 * half))});
}

/// The channels of word `word` of a step.
template <class T>
__device__ __forceinline__ void put_word(InputStep& input, int word, float value) {
    if constexpr (sizeof(T) == 2) {
        input.channel[2 * word] = half_of<T>(value, 0);
        input.channel[2 * word + 1] = half_of<T>(value, 1);
    } else {
        input.channel[word] = value;
    }
}

/// One position.
__device__ __forceinline__ InputStep load_input(const u32* words) {
    InputStep input{};
#pragma unroll
    for (int word = 0; word < step_words; word += input_vector) {
        const auto loaded = load<input_vector>(reinterpret_cast<const float*>(words + word * word_pitch));
#pragma unroll
        for (int i = 0; i < input_vector; ++i)
            put_word<Element>(input, word + i, loaded.v[i]);
    }
    return input;
}

/// `row_vector` positions side by side, from `input[first]` on.
__device__ __forceinline__ void load_inputs(InputStep (&input)[m_fragments], int first, const u32* words) {
    if constexpr (row_vector == 1) {
        input[first] = load_input(words);
        return;
    }
#pragma unroll
    for (int word = 0; word < step_words; ++word) {
        const auto loaded = load<row_vector>(reinterpret_cast<const float*>(words + word * word_pitch));
#pragma unroll
        for (int i = 0; i < row_vector; ++i)
            put_word<Element>(input[first + i], word, loaded.v[i]);
    }
}

/// Channels of a step whose weights are whole vectors.
__device__ constexpr int make_weight_channels() {
    int channels = 1;
    while (channels * lane_columns % weight_vector != 0)
        channels *= 2;
    return channels;
}
constexpr int weight_channels = make_weight_channels();

// Offsets of an axis in one unrolled body: several where its phases are joined.
constexpr int unrolled_d = AxisD::joined ? config::unroll_taps : 1;
constexpr int unrolled_h = AxisH::joined ? config::unroll_taps : 1;
constexpr int unrolled_w = windows ? AxisW::offsets : AxisW::joined ? config::unroll_taps : 1;

/// Which phases have a tap at an offset is known where all have one at every offset, or where offsets are unrolled.
template <class A>
__device__ constexpr bool known_masks(int unrolled) {
    return A::uniform || unrolled >= A::offsets;
}
constexpr bool masks_known =
    known_masks<AxisD>(unrolled_d) && (reuse_rows || known_masks<AxisH>(unrolled_h)) && known_masks<AxisW>(unrolled_w);

/// Phases whose weights are at hand together: an input meets some 16 columns in a row, whose sums and weights the
/// assembler lays into different banks of registers.
constexpr int group_columns = lane_columns > 8 || !masks_known ? lane_columns : 16;
constexpr int phase_group = sum_phases < group_columns / lane_columns ? sum_phases : group_columns / lane_columns;

struct Weights {
    float word[weight_channels * lane_columns];
};

/// The weights of channels `channel` on of one tap.
__device__ __forceinline__ Weights load_weights(const u32* tap, int channel) {
    Weights weights{};
#pragma unroll
    for (int word = 0; word < weight_channels * lane_columns; word += weight_vector) {
        const int before = (channel * lane_columns + word) * column_lanes;
        const auto loaded = load<weight_vector>(reinterpret_cast<const float*>(tap + before));
#pragma unroll
        for (int i = 0; i < weight_vector; ++i)
            weights.word[word + i] = loaded.v[i];
    }
    return weights;
}

/// Words from the stage's start to the lane's position of each of its fragments, at offset 0 of every axis.
struct Rows {
    int word[m_fragments];
};

__device__ __forceinline__ Rows rows_of_lane(int warp_m, int lead) {
    Rows rows{};
#pragma unroll
    for (int fragment = 0; fragment < m_fragments; ++fragment) {
        Position p = position_of(warp_m, fragment, fragment_row(0));
        if (!in_tile(p)) p = {};
        const int row = (p.n * rows_d + p.d + AxisD::halo) * rows_h + p.h + AxisH::halo;
        rows.word[fragment] = (row * row_pitch + p.w + AxisW::halo + lead) * position_pitch;
    }
    return rows;
}

/// Phases that have a tap at an offset, of each axis, as bits.
struct Masks {
    u32 d, h, w;

    __device__ __forceinline__ bool has(int phase) const {
        return (AxisD::uniform || (d >> phase / (AxisH::tapped * AxisW::tapped) & 1) != 0) &&
               (AxisH::uniform || (h >> phase / AxisW::tapped % AxisH::tapped & 1) != 0) &&
               (AxisW::uniform || (w >> phase % AxisW::tapped & 1) != 0);
    }
};

/// Weights of a group of phases.
struct GroupWeights {
    Weights of[phase_group];
};

/// Some channels of a step at one offset: the positions `input[first...]` against the weights of a group of phases.
/// Columns run back and forth, so that each product has an input or a weight of the one before.
template <int Count>
__device__ __forceinline__ void multiply_group(Sums& sums, const InputStep (&input)[Count], int first, int channel,
                                               const GroupWeights& weights, int first_phase, const Masks& masks) {
    constexpr int columns = phase_group * lane_columns;
#pragma unroll
    for (int c = 0; c < weight_channels; ++c) {
#pragma unroll
        for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
            for (int i = 0; i < columns; ++i) {
                const int at = m % 2 == 0 ? i : columns - 1 - i;
                const int phase = first_phase + at / lane_columns;
                const int column = at % lane_columns;
                if (phase_group > 1 && (phase >= sum_phases || !masks.has(phase))) continue;
                float& sum = sums[m][phase][column / fragment_sums][column % fragment_sums];
                sum = fmaf(input[first + m].channel[channel + c],
                           weights.of[at / lane_columns].word[c * lane_columns + column], sum);
            }
        }
    }
}

/// Those of the phases that have a tap, which lie behind one another.
__device__ __forceinline__ GroupWeights load_group(const u32* taps, int channel, int first_phase, const Masks& masks) {
    GroupWeights group;
    int before = 0;
#pragma unroll
    for (int i = 0; i < phase_group; ++i) {
        if (first_phase + i >= sum_phases || !masks.has(first_phase + i)) continue;
        group.of[i] = load_weights(taps + before * tap_words, channel);
        ++before;
    }
    return group;
}

__device__ __forceinline__ int taps_of(int first_phase, const Masks& masks) {
    int taps = 0;
#pragma unroll
    for (int i = 0; i < phase_group; ++i)
        taps += first_phase + i < sum_phases && masks.has(first_phase + i) ? 1 : 0;
    return taps;
}

/// One offset: the positions `input[first...]` against the weights of every phase that has a tap here; the next
/// channels' weights are on their way while some are used. `weights` moves on.
template <int Count>
__device__ __forceinline__ void multiply_tap(Sums& sums, const InputStep (&input)[Count], int first, const Masks& masks,
                                             const u32*& weights) {
#pragma unroll
    for (int phase = 0; phase < sum_phases; phase += phase_group) {
        if (phase_group == 1 && !masks.has(phase)) continue;
        GroupWeights group = load_group(weights, 0, phase, masks);
#pragma unroll
        for (int channel = 0; channel < step_channels; channel += weight_channels) {
            GroupWeights next = group;
            if (channel + weight_channels < step_channels)
                next = load_group(weights, channel + weight_channels, phase, masks);
            multiply_group(sums, input, first, channel, group, phase, masks);
            group = next;
        }
        weights += taps_of(phase, masks) * tap_words;
    }
}

/// Words that offset `number` of an axis goes back.
template <class A>
__device__ __forceinline__ int offset_of(const Run& run, int number) {
    return run.first_offset + number * A::unit;
}

constexpr int row_words = row_pitch * position_pitch;

}  // namespace tconv::product
