// Inputs straight from the tensor to the fragments of the tensor cores, and weights by way of shared memory.
#pragma once

#include "element_vectors.cuh"
#include "few_mma_shape.cuh"

namespace tconv::few_mma {

/// Pieces that a lane's positions come in: vectors along a row, or, channels last, single positions.
constexpr int piece_positions = channels_last ? 1 : load_width;
constexpr int pieces = lane_positions / piece_positions;
/// Vectors of a piece and chunk: of channels, or one for each channel.
constexpr int piece_vectors = channels_last ? chunk_words / vector_words : chunk_words * word_channels;

__device__ __forceinline__ int quarter_of_lane() {
    return static_cast<int>(threadIdx.x) % 4;
}
/// The first of the lane's positions.
__device__ __forceinline__ int lane_position() {
    return static_cast<int>(threadIdx.x) / 4 * lane_positions;
}

/// Where a lane's positions lie, in the line that is loaded next.
struct Source {
    const Element* piece[pieces];
    bool inside[pieces];

    __device__ __forceinline__ Source(const Element* input, const Tile& tile, int first_line, int batch) {
#pragma unroll
        for (int i = 0; i < pieces; ++i) {
            const int position = lane_position() + i * piece_positions;
            const Index w = SpanW::origin(tile.column) + position % SpanW::inputs;
            const Index row = SpanR::origin(tile.row) + position / SpanW::inputs % SpanR::inputs;
            const int entry = tile.entry + position / (SpanW::inputs * SpanR::inputs);
            inside[i] =
                position < positions && w >= 0 && w < AxisW::input && row >= 0 && row < Rows::input && entry < batch;
            const i64 offset = static_cast<i64>(first_line) * input_line + static_cast<i64>(row) * AxisW::input + w;
            const int channel = channel_of(quarter_of_lane(), 0, 0);
            piece[i] =
                input + static_cast<i64>(entry) * (in_channels * static_cast<i64>(input_volume)) +
                (channels_last ? offset * in_channels + channel : offset + channel * static_cast<i64>(input_volume));
        }
    }
    __device__ __forceinline__ void next_line() {
#pragma unroll
        for (int i = 0; i < pieces; ++i)
            piece[i] += static_cast<i64>(input_line) * (channels_last ? in_channels : 1);
    }
};

/// A lane's inputs of a chunk as they are in memory; zeros outside the tensor.
struct Inputs {
    Vector<load_width> vector[pieces][piece_vectors];

    __device__ __forceinline__ Inputs() {
#pragma unroll
        for (auto& piece : vector) {
#pragma unroll
            for (auto& each : piece)
                each = {};
        }
    }
    /// Where `wanted`, by predicates alone: a branch would copy all registers.
    __device__ __forceinline__ void load(const Source& source, int chunk, bool wanted) {
#pragma unroll
        for (int v = 0; v < piece_vectors; ++v) {
            // The channel's distance from the lane's first one.
            const int word = channels_last ? v * vector_words : v / word_channels;
            const int element = channels_last ? 0 : v % word_channels;
            const int distance = chunk * (channel_of(0, chunk_words, 0)) + channel_of(0, word, element);
            const bool exists = !padded || distance + channel_of(quarter_of_lane(), 0, 0) < in_channels;
            const i64 offset = channels_last ? distance : distance * static_cast<i64>(input_volume);
#pragma unroll
            for (int i = 0; i < pieces; ++i) {
                if (padded && !exists) vector[i][v] = {};
                load_if<load_width>(wanted && source.inside[i] && exists, vector[i][v], source.piece[i] + offset);
            }
        }
    }
};

template <int N>
__device__ __forceinline__ u32 bits_of(const Halves<N>& vector, int i) {
    if constexpr (N == 1) {
        return vector.value;
    } else {
        return vector.words[i / 2] >> (16 * (i % 2)) & 0xffffu;
    }
}

/// Element `element` of the lane's word `word` of a chunk, at one of its positions.
template <int N>
__device__ __forceinline__ float value_of(const Floats<N> (&vector)[pieces][piece_vectors], int position, int word,
                                          int element) {
    const int i = word * word_channels + element;
    if constexpr (channels_last) {
        return vector[position][i / N].v[i % N];
    } else {
        return vector[position / N][i].v[position % N];
    }
}
template <int N>
__device__ __forceinline__ u32 value_of(const Halves<N> (&vector)[pieces][piece_vectors], int position, int word,
                                        int element) {
    const int i = word * word_channels + element;
    if constexpr (channels_last) {
        return bits_of(vector[position][i / N], i % N);
    } else {
        return bits_of(vector[position / N][i], position % N);
    }
}

/// The operand of two channels (of one, in TF32): a word, or two where numbers are split.
__device__ __forceinline__ void put_word(u32& high, u32& low, float first, float second) {
    if constexpr (split) {
        split_bf16(first, second, high, low);
    } else {
        high = round_to_tf32(first);
    }
}
__device__ __forceinline__ void put_word(u32& high, u32&, u32 first, u32 second) {
    high = first | second << 16;
    // No change, which the assembler cannot know: words of vectors, being plain copies, it would copy into the order of
    // an operand's registers for every tap anew.
    if constexpr (held) high ^= blockIdx.y;
}

__device__ __forceinline__ float operand_of(float value) {
    return value;
}
template <class T>
__device__ __forceinline__ u32 operand_of(T value) {
    return value.bits;
}

/// A chunk's words of a lane: [part][fragment][step], in registers as the tensor cores take them.
struct Fragments {
    u32 words[parts][m_fragments][chunk_words / 2][4];

    __device__ __forceinline__ explicit Fragments(const Inputs& inputs) {
#pragma unroll
        for (int position = 0; position < lane_positions; ++position) {
#pragma unroll
            for (int word = 0; word < chunk_words; ++word) {
                const auto at = [&](int part) -> u32& {
                    return words[part][position / 2][word / 2][position % 2 + word % 2 * 2];
                };
                const auto value = [&](int element) { return value_of(inputs.vector, position, word, element); };
                put_word(at(0), at(parts - 1), value(0), value(word_channels - 1));
            }
        }
    }
};

/// Where the word of a lane is: [tap along the walk][column tile][vector of words][part][lane].
__device__ constexpr int weight_place(int tap, int column_tile, int word, int part, int lane) {
    return ((((tap * column_tiles + column_tile) * (words / weight_vector) + word / weight_vector) * parts + part) *
                32 +
            lane) *
               weight_vector +
           word % weight_vector;
}

__device__ __forceinline__ Element weight_at(const Element* weight, int tap, int column, int channel) {
    if (column >= columns || channel >= in_channels) return Element{};
    return load_readonly(weight + weight_offset<int>(channels_last, channel, column % out_channels,
                                                     tap * line_taps + column / out_channels, out_channels,
                                                     Walk::kernel * line_taps));
}

__device__ __forceinline__ void stage_weights(u32* shared, const Element* weight) {
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < weight_words / parts; i += threads) {
        const int lane = i % 32;
        const int word = i / 32 % words;
        const int column_tile = i / 32 / words % column_tiles;
        const int tap = i / 32 / words / column_tiles;
        const int column = column_tile * 8 + lane / 4;
        const auto value = [&](int element) {
            return operand_of(weight_at(weight, tap, column, channel_of(lane % 4, word, element)));
        };
        const auto at = [&](int part) -> u32& { return shared[weight_place(tap, column_tile, word, part, lane)]; };
        put_word(at(0), at(parts - 1), value(0), value(word_channels - 1));
    }
}

}  // namespace tconv::few_mma
