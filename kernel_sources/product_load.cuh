// Input and packed weights of one chunk of channels, from device to shared memory.
#pragma once

#include "product_shape.cuh"

namespace tconv::product {

/// Words that lie in the tensor as they lie in shared memory are copied asynchronously. Pairs of 16-bit channels that
/// do not are gathered through registers.
constexpr bool gathers =
    native && !packs_input && (!channels_last || in_group % 2 != 0 || problem::in_channels % 2 != 0);

constexpr int tile_columns = config::tile_columns;  // of a row that are loaded, a multiple of `vector` channels first
constexpr int column_words = channels_last ? chunk_words / vector : 1;
constexpr int row_units = channels_last ? tile_columns * column_words : tile_columns / vector;
constexpr int load_units = tile_n * rows_d * rows_h * row_units;

/// What one thread loads at once: `vector` columns of a row (channels first) or `vector` words of a column.
struct Unit {
    int n, d, h, column, word;
};
__device__ __forceinline__ Unit unit_of(int number) {
    const int row = number / row_units;
    const int rest = number - row * row_units;
    return {row / (rows_h * rows_d), row / rows_h % rows_d, row % rows_h,
            channels_last ? rest / column_words : rest * vector, channels_last ? rest % column_words * vector : 0};
}

/// Its first word in the stage.
__device__ __forceinline__ int target_of(const Unit& unit) {
    const int row = (unit.n * rows_d + unit.d) * rows_h + unit.h;
    return (row * row_pitch + unit.column) * position_pitch + unit.word * word_pitch;
}

/// Its element of the group's first line, or null outside the tensor.
__device__ __forceinline__ const LineElement* source_of(const Unit& unit, const LineElement* input, const Place& place,
                                                        int batch, int lead) {
    const Index in_d = place.q_d - AxisD::halo + unit.d;
    const Index in_h = place.q_h - AxisH::halo + unit.h;
    const Index in_w = place.q_w - AxisW::halo - lead + unit.column;
    const bool inside = in_d >= 0 && in_d < AxisD::input && in_h >= 0 && in_h < AxisH::input && in_w >= 0 &&
                        in_w < AxisW::input && place.batch + unit.n < batch;
    if (!inside) return nullptr;
    const Index position = (in_d * AxisH::input + in_h) * AxisW::input + in_w;
    const i64 first_line = static_cast<i64>(place.batch + unit.n) * all_lines;
    const int group_line = place.group * group_lines;
    return channels_last ? input + first_line * input_volume + position * static_cast<Index>(all_lines) + group_line
                         : input + (first_line + group_line) * input_volume + position;
}

/// Starts the asynchronous copy of chunk `chunk` of the input, zeros outside the tensor.
__device__ __forceinline__ void copy_input(u32* stage, const LineElement* input, const Place& place, int batch,
                                           int lead, int chunk) {
    constexpr int copied = gathers ? 1 : vector;  // not used where the input is gathered
    const int first_line = chunk * (config::channel_chunk / line_channels);
    for (int number = threadIdx.x; number < load_units; number += threads) {
        const Unit unit = unit_of(number);
        const LineElement* source = source_of(unit, input, place, batch, lead);
        u32* target = stage + target_of(unit);
        if constexpr (channels_last) {
            const int channel = first_line + unit.word * word_channels;
            const bool valid = source != nullptr && channel < in_group;
            copy_async<4 * copied>(target, valid ? source + channel : input, valid);
        } else {
#pragma unroll
            for (int word = 0; word < chunk_words; ++word) {
                const int line = first_line + word;
                const bool valid = source != nullptr && line < group_lines;
                copy_async<4 * copied>(target + word * word_pitch,
                                       valid ? source + line * static_cast<Index>(input_volume) : input, valid);
            }
        }
    }
}

/// Taps along an axis that the packed weights of a block hold.
template <class A>
__device__ __forceinline__ int packed_taps(const Run& run) {
    return A::joined ? axis_taps<A> : run.count;
}

/// Words of the packed weights of one chunk, in whole 16 bytes.
__device__ __forceinline__ int weight_count(const Place& place) {
    const int taps_dw = tap_pairs ? (place.run_d.count * place.run_w.count + 1) / 2 * pair_phases
                                  : packed_taps<AxisD>(place.run_d) * packed_taps<AxisW>(place.run_w);
    return (taps_dw * packed_taps<AxisH>(place.run_h) * (steps * tap_words) + 3) / 4 * 4;
}

/// Starts the asynchronous copy of a chunk's packed weights.
__device__ __forceinline__ void copy_weights(u32* stage, const u32* weights, const Place& place, int chunk) {
    const u32* source =
        weights + packed_offset(place.group, place.channel_block, place.phase_d, place.phase_h, place.phase_w, chunk);
    const int count = weight_count(place);
#pragma unroll 4
    for (int word = 4 * threadIdx.x; word < count; word += 4 * threads)
        copy_async<16>(stage + word, source + word, true);
}

// Gathering: a thread's part of a chunk waits in registers while the block computes the chunk before.
constexpr int gather_units = load_units * (channels_last ? 1 : chunk_words);
constexpr int thread_units = gathers ? (gather_units + threads - 1) / threads : 1;

struct Gathered {
    Halves<vector> low[thread_units];   // even channels
    Halves<vector> high[thread_units];  // odd channels
};

/// Number of the load unit of gather unit `number`, and its first word.
__device__ __forceinline__ Unit gather_unit(int number) {
    Unit unit = unit_of(channels_last ? number : number % load_units);
    if (!channels_last) unit.word = number / load_units;
    return unit;
}

__device__ __forceinline__ void gather_input(Gathered& gathered, const LineElement* input, const Place& place,
                                             int batch, int lead, int chunk) {
    constexpr Index step = channels_last ? 1 : static_cast<Index>(input_volume);
#pragma unroll
    for (int i = 0; i < thread_units; ++i) {
        const int number = threadIdx.x + i * threads;
        gathered.low[i] = {};
        gathered.high[i] = {};
        if (number >= gather_units) continue;
        const Unit unit = gather_unit(number);
        const LineElement* source = source_of(unit, input, place, batch, lead);
        const int channel = chunk * config::channel_chunk + 2 * unit.word;
        if (source == nullptr || channel >= in_group) continue;
        const u16* address = reinterpret_cast<const u16*>(source + channel * step);
        gathered.low[i] = load_halves<vector>(address);
        if (channel + 1 < in_group) gathered.high[i] = load_halves<vector>(address + step);
    }
}

__device__ __forceinline__ void put_gathered(u32* stage, const Gathered& gathered) {
#pragma unroll
    for (int i = 0; i < thread_units; ++i) {
        const int number = threadIdx.x + i * threads;
        if (number >= gather_units) break;
        const Unit unit = gather_unit(number);
        store_pairs<vector>(stage + target_of(unit), gathered.low[i], gathered.high[i]);
    }
}

}  // namespace tconv::product
