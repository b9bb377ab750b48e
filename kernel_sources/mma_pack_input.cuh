// 16-bit input from channels first to channels last, so that its words are copied instead of gathered element by
// element: [batch][position][group][channel], zeros past a group's last channel.
//
// A thread turns some positions of eight channels: it loads vectors of positions and stores 16 bytes of channels, its
// neighbours those of the next channels.
#pragma once

#include "channel_lines.cuh"
#include "product_shape.cuh"

namespace tconv::product {

constexpr int pack_input_threads = 256;
constexpr int slice_channels = 8;
constexpr int group_slices = input_group / slice_channels;
constexpr int all_slices = static_cast<int>(problem::groups) * group_slices;
constexpr int block_slices = config::input_slices;  // of the same positions
constexpr int slice_blocks = (all_slices + block_slices - 1) / block_slices;

/// What was loaded as eight lines of positions, as the channels of each position.
template <int N>
__device__ __forceinline__ void store_slices(Element* target, const ChannelLines<slice_channels, N>& lines) {
#pragma unroll
    for (int position = 0; position < N; ++position) {
        Floats<4> words;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const u32 low = lines.at(2 * i, position).bits;
            const u32 high = lines.at(2 * i + 1, position).bits;
            words.v[i] = __uint_as_float(low | high << 16);
        }
        store<4>(reinterpret_cast<float*>(target + position * input_channels), words);
    }
}

/// Of a large input the first positions come last: with them the product begins, and finds them in the L2 cache.
template <int N>
__device__ __forceinline__ void pack_input(const Element* input, Element* packed) {
    constexpr int block_positions = pack_input_threads / block_slices * N;
    constexpr u32 entry_blocks = static_cast<u32>((input_volume + block_positions - 1) / block_positions);
    const u32 number = gridDim.x - 1 - blockIdx.x;
    const int lane = static_cast<int>(threadIdx.x) / block_slices;
    const int slice = static_cast<int>(number % slice_blocks * block_slices + threadIdx.x % block_slices);
    const i64 position = number / slice_blocks % entry_blocks * static_cast<i64>(block_positions) + lane * N;
    const i64 batch = number / slice_blocks / entry_blocks;
    if (lane >= pack_input_threads / block_slices || slice >= all_slices || position >= input_volume) return;
    const int channel = slice % group_slices * slice_channels;
    const i64 first_channel = batch * problem::in_channels + slice / group_slices * in_group + channel;
    const ChannelLines<slice_channels, N> lines(input + first_channel * input_volume + position, input_volume,
                                                in_group - channel);
    store_slices(packed + (batch * input_volume + position) * input_channels + slice * slice_channels, lines);
}

}  // namespace tconv::product
