// From the tensors to shared memory: a chunk of input channels, [channel][position] and [channel][column], in fp32.
#pragma once

#include "overlap_add_shape.cuh"
#include "quad_copy.cuh"

namespace tconv::overlap_add {

/// fp32 operands whose neighbours are neighbours in shared memory go by asynchronous copies; all others through
/// registers, which turn, convert and take them in pieces.
constexpr bool weights_copied = problem::element_bytes == 4;
/// Neighbours are channels: they are last, or an image is a single position.
constexpr bool input_turned = channels_last || positions == 1;
constexpr bool input_copied = problem::element_bytes == 4 && !input_turned;
/// Elements of one access.
constexpr int input_vector = config::input_vector;
constexpr int weight_vector = config::weight_vector;

/// Offset of channel 0 of the group at position `row` of all entries.
__device__ __forceinline__ i64 input_offset(int group, i64 row) {
    const i64 channel = static_cast<i64>(group) * in_group;
    if constexpr (channels_last) return row * problem::in_channels + channel;
    return (row / positions * problem::in_channels + channel) * positions + row % positions;
}
constexpr i64 channel_step = channels_last ? 1 : positions;

/// Whether there is such a channel; the last chunk may lack some.
__device__ __forceinline__ bool has_channel(int channel) {
    return in_group % chunk == 0 || channel < in_group;
}

using InputLines = CopiedLines<Element, tile_m, input_vector>;
using WeightLines = CopiedLines<Element, tile_n, weight_vector>;

/// The copied pieces of a tile's operands.
struct CopiedPieces {
    InputLines input;
    WeightLines weight;

    /// Those of the tile's first chunk are at hand.
    __device__ __forceinline__ void place_at(const Tile& tile, i64 rows, const Element* input_tensor,
                                             const Element* weight_tensor) {
        const int channel = splits == 1 ? 0 : tile.first_chunk * chunk;
        if constexpr (input_copied) {
#pragma unroll
            for (int i = 0; i < InputLines::places; ++i) {
                const i64 row = tile.row + InputLines::place(i);
                input.place_at(i, has_row(row, rows),
                               input_tensor + input_offset(tile.group, row) + channel * channel_step, channel_step);
            }
        }
        if constexpr (weights_copied) {
            const i64 line = tile.group * in_group + channel;
#pragma unroll
            for (int i = 0; i < WeightLines::places; ++i) {
                const int column = tile.column + WeightLines::place(i);
                weight.place_at(i, column < columns, weight_tensor + line * columns + column, columns);
            }
        }
    }
    /// Starts the copies of the chunk at hand, which has `channels` channels unless all are whole.
    __device__ __forceinline__ void start(Chunk& target, const Element* input_tensor, const Element* weight_tensor,
                                          int channels) {
        constexpr bool whole = in_group % chunk == 0;
        if constexpr (input_copied) input.copy<whole, false>(target.input, input_tensor, channel_step, channels);
        if constexpr (weights_copied) weight.copy<whole, false>(target.weight, weight_tensor, columns, channels);
    }
};

/// The input where neighbours are channels: piece i is `input_vector` channels of one position; neighbouring threads
/// take neighbouring positions, so that what they write lies in different banks.
struct TurnedPieces {
    static constexpr int count = Pieces<tile_m, input_vector>::count;
    Vector<input_vector> values[count];

    __device__ __forceinline__ static int place(int i) {
        return static_cast<int>((i * threads + threadIdx.x) % tile_m);
    }
    __device__ __forceinline__ static int channel(int i) {
        return static_cast<int>((i * threads + threadIdx.x) / tile_m * input_vector);
    }
    __device__ __forceinline__ static bool is_mine(int i) {
        return (i + 1) * threads * input_vector <= chunk * tile_m || channel(i) < chunk;
    }
    __device__ __forceinline__ void load(const Element* input, const Tile& tile, i64 rows, int first_channel) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const i64 row = tile.row + place(i);
            const int c = first_channel + channel(i);
            values[i] = {};
            if (is_mine(i) && has_row(row, rows) && has_channel(c))
                values[i] = load_vector<input_vector>(input + input_offset(tile.group, row) + c);
        }
    }
    __device__ __forceinline__ void store(Chunk& target) const {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            if (!is_mine(i)) break;
#pragma unroll
            for (int j = 0; j < input_vector; ++j)
                target.input[channel(i) + j][place(i)] = element_of(values[i], j);
        }
    }
};

/// A 16-bit operand whose neighbours are neighbours in shared memory: the weights, and the input channels first.
template <int Size, int Width>
struct WidenedPieces {
    using P = Pieces<Size, Width>;
    Vector<Width> values[P::count];

    /// source(channel, place): the address, or null outside the operand.
    template <class Source>
    __device__ __forceinline__ void load(int first_channel, const Source& source) {
#pragma unroll
        for (int i = 0; i < P::count; ++i) {
            values[i] = {};
            const bool inside = P::is_mine(i) && has_channel(first_channel + P::channel(i));
            const Element* address = inside ? source(first_channel + P::channel(i), P::place(i)) : nullptr;
            if (address != nullptr) values[i] = load_vector<Width>(address);
        }
    }
    __device__ __forceinline__ void store(float (&target)[chunk][Size]) const {
        constexpr int words = Width < k_quad ? Width : k_quad;
#pragma unroll
        for (int i = 0; i < P::count; ++i) {
            if (!P::is_mine(i)) break;
#pragma unroll
            for (int j = 0; j < Width; j += words) {
                Floats<words> part;
#pragma unroll
                for (int l = 0; l < words; ++l)
                    part.v[l] = element_of(values[i], j + l);
                tconv::store<words>(&target[P::channel(i)][P::place(i) + j], part);
            }
        }
    }
};

/// Operands that go through registers: loaded while the chunk before is multiplied, then stored.
struct Passing {
    TurnedPieces turned;
    WidenedPieces<tile_m, input_vector> input;
    WidenedPieces<tile_n, weight_vector> weight;

    __device__ __forceinline__ void load(const Element* input_tensor, const Element* weight_tensor, const Tile& tile,
                                         i64 rows, int first_channel) {
        if constexpr (input_turned) {
            turned.load(input_tensor, tile, rows, first_channel);
        } else if constexpr (!input_copied) {
            input.load(first_channel, [&](int channel, int place) -> const Element* {
                const i64 row = tile.row + place;
                if (!has_row(row, rows)) return nullptr;
                return input_tensor + input_offset(tile.group, row) + channel * channel_step;
            });
        }
        if constexpr (!weights_copied) {
            weight.load(first_channel, [&](int channel, int place) -> const Element* {
                if (tile.column + place >= columns) return nullptr;
                return weight_tensor + (static_cast<i64>(tile.group) * in_group + channel) * columns + tile.column +
                       place;
            });
        }
    }
    __device__ __forceinline__ void store(Chunk& target) const {
        if constexpr (input_turned) {
            turned.store(target);
        } else if constexpr (!input_copied) {
            input.store(target.input);
        }
        if constexpr (!weights_copied) weight.store(target.weight);
    }
};

}  // namespace tconv::overlap_add
