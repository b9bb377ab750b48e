// 16-bit input, channels first, as words of two channels: [batch][group][pair][position], zeros beside a group's last
// channel where their number is odd. Products then read it as they read fp32 tensors, by copies instead of element by
// element.
#pragma once

#include "element_vectors.cuh"
#include "product_shape.cuh"

namespace tconv::product {

constexpr int pack_input_threads = 256;
/// Vectors of a thread, which are loaded together.
constexpr int pack_vectors = 4;

/// Of a large input the first positions come last: with them the product begins, and finds them in the L2 cache.
template <int N>
__device__ __forceinline__ void pack_input(const Element* input, u32* packed) {
    constexpr u32 line_vectors = static_cast<u32>(input_volume / N);
    constexpr u32 entry_vectors = static_cast<u32>(all_lines) * line_vectors;
    constexpr u32 block_vectors = pack_vectors * pack_input_threads;
    constexpr u32 entry_blocks = (entry_vectors + block_vectors - 1) / block_vectors;
    const u32 block = gridDim.x - 1 - blockIdx.x;
    const i64 batch = block / entry_blocks;
    const u32 first = block % entry_blocks * block_vectors + threadIdx.x;
    Halves<N> low[pack_vectors];
    Halves<N> high[pack_vectors];
#pragma unroll
    for (int i = 0; i < pack_vectors; ++i) {
        low[i] = {};
        high[i] = {};
        const u32 number = first + i * pack_input_threads;
        const bool present = number < entry_vectors;
        const u32 line = number / line_vectors;
        const u32 channel = line % group_lines * 2;
        const Element* source =
            input + (batch * problem::in_channels + line / group_lines * in_group + channel) * input_volume +
            number % line_vectors * N;
        load_if<N>(present, low[i], source);
        load_if<N>(present && channel + 1 < in_group, high[i], source + input_volume);
    }
#pragma unroll
    for (int i = 0; i < pack_vectors; ++i) {
        const u32 number = first + i * pack_input_threads;
        if (number < entry_vectors) store_pairs<N>(packed + (batch * entry_vectors + number) * N, low[i], high[i]);
    }
}

}  // namespace tconv::product
