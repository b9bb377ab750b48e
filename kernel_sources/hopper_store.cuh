// Accumulators to the output: bias added, rounded once, through shared memory so that a warp writes whole lines.
#pragma once

#include "hopper_shape.cuh"

namespace tconv::hopper {

constexpr int element_bytes = static_cast<int>(sizeof(Element));
/// Shared memory for the outputs of one warpgroup.
constexpr int staging_bytes = config::staging_bytes;

/// Columns that go through shared memory at a time.
constexpr int chunk_columns = tile_n % (128 / element_bytes) == 0 ? 128 / element_bytes : 32;
static_assert(tile_n % chunk_columns == 0, "a tile has whole chunks");

__device__ __forceinline__ float bias_of(const float* bias, int channel) {
    return load_readonly(bias + channel);
}
template <class T>
__device__ __forceinline__ float bias_of(const T* bias, int channel) {
    return to_float(load_readonly(bias + channel));
}

/// The biases of columns `number` and number + 1.
struct Pair {
    float v[2];
};
__device__ __forceinline__ Pair bias_pair(const Element* bias, const Tile& tile, int number) {
    Pair pair{{0, 0}};
    if constexpr (problem::bias) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if (number + i < columns) pair.v[i] = bias_of(bias, tile.group * out_group + column_at(number + i).channel);
        }
    }
    return pair;
}

/// Bytes [first, first + BYTES) of a piece of 16.
template <int BYTES>
__device__ __forceinline__ void store_part(Element* target, const Floats<4>& piece, int first) {
    float* address = reinterpret_cast<float*>(target);
    if constexpr (BYTES == 16) {
        store<4>(address, piece);
    } else if constexpr (BYTES == 8) {
        store<2>(address, Floats<2>{{piece.v[first / 4], piece.v[first / 4 + 1]}});
    } else if constexpr (BYTES == 4) {
        store<1>(address, Floats<1>{{piece.v[first / 4]}});
    } else if constexpr (element_bytes == 2) {
        *target = Element{static_cast<u16>(__float_as_uint(piece.v[first / 4]) >> (first % 4 * 8))};
    }
}

/// Channels last: the channels of a phase lie together, so a warp goes by itself, row by row.
struct StoreLast {
    static constexpr int warp_rows = 16;
    static constexpr int row_bytes = chunk_columns * element_bytes;
    /// Room that keeps the accumulators' pairs of eight rows in different banks.
    static constexpr int pitch = row_bytes + (element_bytes == 2 ? 16 : 32);
    static constexpr int row_threads = row_bytes / 16;
    static constexpr int passes = warp_rows * row_threads / 32;
    static constexpr int piece_columns = 16 / element_bytes;
    static constexpr int part_bytes = config::store_bytes;
    static constexpr int part_columns = part_bytes / element_bytes;
    static_assert(4 * warp_rows * pitch <= staging_bytes, "the staging holds the rows of four warps");

    __device__ static void run(const float (&sums)[tile_n / 2], const Tile& tile, int first_row, unsigned char* staging,
                               const Element* bias, Element* output, int batch) {
        const int lane = threadIdx.x % 32;
        const int warp = threadIdx.x % k_warpgroup / 32;
        unsigned char* rows = staging + warp * (warp_rows * pitch);
        Position at[passes];
#pragma unroll
        for (int pass = 0; pass < passes; ++pass)
            at[pass] =
                position_of(tile, first_row + warp * warp_rows + pass * (32 / row_threads) + lane / row_threads, batch);
#pragma unroll
        for (int chunk = 0; chunk < tile_n / chunk_columns; ++chunk) {
            const int first = tile.column + chunk * chunk_columns;
#pragma unroll
            for (int j = 0; j < chunk_columns / 8; ++j) {
                const int column = 8 * j + 2 * (lane % 4);
                const Pair offset = bias_pair(bias, tile, first + column);
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int from = 4 * (chunk * (chunk_columns / 8) + j) + 2 * half;
                    Element* to = reinterpret_cast<Element*>(rows + (lane / 4 + 8 * half) * pitch) + column;
                    put(to, sums[from] + offset.v[0], sums[from + 1] + offset.v[1]);
                }
            }
            __syncwarp();
#pragma unroll
            for (int pass = 0; pass < passes; ++pass) {
                const int row = pass * (32 / row_threads) + lane / row_threads;
                const int piece = lane % row_threads;
                const Floats<4> values = load<4>(reinterpret_cast<const float*>(rows + row * pitch + 16 * piece));
#pragma unroll
                for (int part = 0; part < 16 / part_bytes; ++part) {
                    const int number = first + piece * piece_columns + part * part_columns;
                    if (number >= columns) break;
                    const i64 offset = output_offset(at[pass], column_at(number), tile.group);
                    if (offset >= 0) store_part<part_bytes>(output + offset, values, part * part_bytes);
                }
            }
            __syncwarp();
        }
    }

    __device__ static __forceinline__ void put(float* to, float a, float b) {
        store<2>(to, Floats<2>{{a, b}});
    }
    template <class T>
    __device__ static __forceinline__ void put(T* to, float a, float b) {
        const u32 word = from_float<T>(a).bits | static_cast<u32>(from_float<T>(b).bits) << 16;
        store<1>(reinterpret_cast<float*>(to), Floats<1>{{__uint_as_float(word)}});
    }
};

/// Channels first: the warpgroup transposes, and neighbours in a row of the output go to neighbouring threads.
struct StoreFirst {
    static constexpr i64 output_volume = problem::output_d * problem::output_h * problem::output_w;
    static constexpr int slots_w = AxisW::slots;
    static constexpr int pitch = k_product_rows * element_bytes + 16;
    /// Neighbours in a row of the output that are stored at once.
    static constexpr int vector = channels_last ? 1 : config::store_bytes / element_bytes;
    static constexpr int vector_words = (vector * element_bytes + 3) / 4;
    static constexpr int row_vectors = k_product_rows * slots_w / vector;  // of one channel
    /// Channels that the warpgroup writes at a time.
    static constexpr int together = row_vectors < k_warpgroup ? k_warpgroup / row_vectors : 1;
    /// Channels that a thread moves at a time.
    static constexpr int all_channels = chunk_columns / slots_w / together;
    static constexpr int batch_channels = all_channels < 8 / vector ? all_channels : 8 / vector;
    static_assert(slots_w % vector == 0, "a vector lies within the phases of a position");
    static_assert(chunk_columns % slots_w == 0, "a chunk holds the phases of a row together");
    static_assert(chunk_columns * pitch <= staging_bytes, "the staging holds a chunk of columns");

    struct Outputs {
        Element v[vector];

        __device__ __forceinline__ void store_at(Element* target) const {
            if constexpr (vector == 1) {
                *target = v[0];
            } else {
                Floats<vector_words> words{};
#pragma unroll
                for (int j = 0; j < vector; ++j) {
                    const int word = j * element_bytes / 4;
                    const u32 bits = bits_of(v[j]) << (j * element_bytes % 4 * 8);
                    words.v[word] = __uint_as_float(__float_as_uint(words.v[word]) | bits);
                }
                store<vector_words>(reinterpret_cast<float*>(target), words);
            }
        }
        template <class T>
        __device__ static __forceinline__ u32 bits_of(T value) {
            return value.bits;
        }
        __device__ static __forceinline__ u32 bits_of(float value) {
            return __float_as_uint(value);
        }
    };

    __device__ static void run(const float (&sums)[tile_n / 2], const Tile& tile, int first_row, unsigned char* staging,
                               const Element* bias, Element* output, int batch) {
        const int thread = threadIdx.x % k_warpgroup;
        const int lane = thread % 32;
        const int row = thread / 32 * 16 + lane / 4;
        const int group = threadIdx.x / k_warpgroup;
#pragma unroll
        for (int chunk = 0; chunk < tile_n / chunk_columns; ++chunk) {
            const int first = tile.column + chunk * chunk_columns;
            warpgroup_sync(group);
#pragma unroll
            for (int j = 0; j < chunk_columns / 8; ++j) {
                const int column = 8 * j + 2 * (lane % 4);
                const Pair offset = bias_pair(bias, tile, first + column);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    unsigned char* line = staging + (column + i % 2) * pitch;
                    reinterpret_cast<Element*>(line)[row + i / 2 * 8] =
                        from_float<Element>(sums[4 * (chunk * (chunk_columns / 8) + j) + i] + offset.v[i % 2]);
                }
            }
            warpgroup_sync(group);
            if (first < columns) write(tile, first, first_row, thread, staging, output, batch);
        }
    }

    __device__ static __forceinline__ void write(const Tile& tile, int first, int first_row, int thread,
                                                 const unsigned char* staging, Element* output, int batch) {
#pragma unroll 1
        for (int i = thread; i < together * row_vectors; i += k_warpgroup) {
            const int place = i % row_vectors;
            const int slot_w = place % (slots_w / vector) * vector;
            const int row = place / (slots_w / vector);
            const Position at = position_of(tile, first_row + row, batch);
            if (at.batch < 0) continue;
            const unsigned char* from = staging + slot_w * pitch + row * element_bytes;
            const int column = first + slot_w;
#pragma unroll 1
            for (int c = i / row_vectors; c < chunk_columns / slots_w; c += batch_channels * together) {
                Outputs values[batch_channels];
#pragma unroll
                for (int k = 0; k < batch_channels; ++k) {
#pragma unroll
                    for (int j = 0; j < vector; ++j) {
                        const int line = (c + k * together) * slots_w + j;
                        values[k].v[j] = *reinterpret_cast<const Element*>(from + line * pitch);
                    }
                }
                put(values, at, tile.group, column + c * slots_w, output);
            }
        }
    }

    /// Outputs of every `together`-th channel from column `number` on. Neighbours lie inside the output together.
    __device__ static __forceinline__ void put(const Outputs (&values)[batch_channels], const Position& at, int group,
                                               int number, Element* output) {
        constexpr int step = together * slots_w;
        if constexpr (slots_dh == 1) {
            // Neighbouring channels lie a volume apart.
            const i64 offset = output_offset(at, column_at(number), group);
            if (offset < 0) return;
            Element* target = output + offset;
#pragma unroll
            for (int k = 0; k < batch_channels; ++k) {
                if (number + k * step < columns) values[k].store_at(target + k * (together * output_volume));
            }
        } else {
#pragma unroll
            for (int k = 0; k < batch_channels; ++k) {
                if (number + k * step >= columns) return;
                const i64 offset = output_offset(at, column_at(number + k * step), group);
                if (offset >= 0) values[k].store_at(output + offset);
            }
        }
    }
};

template <bool ChannelsLast>
struct StoreOf {
    using type = StoreFirst;
};
template <>
struct StoreOf<true> {
    using type = StoreLast;
};
using Store = StoreOf<channels_last>::type;

}  // namespace tconv::hopper
