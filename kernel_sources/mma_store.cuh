// A warp's accumulators to the output, through a part of shared memory of its own, so that it writes whole lines.
#pragma once

#include "mma_compute.cuh"

namespace tconv::mma {

// One round stages the columns of some channels, each for all positions of the warp. Channels first: [column][position];
// channels last: [position][column].
constexpr int staged_columns = config::staged_columns;
constexpr int staging_pitch = config::staging_pitch;
constexpr int staging_words = config::staging_words;  // of a warp

__device__ __forceinline__ int staged_word(int column, int row) {
    return channels_last ? row * staging_pitch + column : column * staging_pitch + row;
}

/// Puts a fragment's 16 x 8 accumulators at `column` and `row`.
__device__ __forceinline__ void stage_fragment(float* staging, const float (&sums)[4], int column, int row) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        staging[staged_word(column + lane % 4 * 2 + i % 2, row + lane / 4 + i / 2 * 8)] = sums[i];
}

/// Where an output position of the warp lies in the tensor.
struct Target {
    i64 offset;  // of the group's first channel
    bool inside;
};

/// Output at phase (r_d, r_h, r_w) of position `number` of the tile.
__device__ __forceinline__ Target target_of(const Place& place, int batch, int number, int r_d, int r_h, int r_w) {
    const Position p = position_of(number);
    const Index out_d = (place.q_d + p.d) * AxisD::stride + r_d - AxisD::padding;
    const Index out_h = (place.q_h + p.h) * AxisH::stride + r_h - AxisH::padding;
    const Index out_w = (place.q_w + p.w) * AxisW::stride + r_w - AxisW::padding;
    const bool inside = number < tile_positions && place.batch + p.n < batch && out_d >= 0 && out_d < AxisD::output &&
                        out_h >= 0 && out_h < AxisH::output && out_w >= 0 && out_w < AxisW::output;
    const Index position = (out_d * AxisH::output + out_h) * AxisW::output + out_w;
    const i64 first_channel = static_cast<i64>(place.batch + p.n) * problem::out_channels;
    const int group_channel = place.group * out_group;
    return {channels_last
                ? first_channel * output_volume + position * static_cast<Index>(problem::out_channels) + group_channel
                : (first_channel + group_channel) * output_volume + position,
            inside};
}

__device__ __forceinline__ float bias_at(const Element* bias, const Place& place, int channel) {
    if constexpr (!problem::bias) return 0.0f;
    return channel < out_group ? to_float(load_readonly(bias + place.group * out_group + channel)) : 0.0f;
}

/// Number of a joined phase among the block's columns, or -1 where it has no taps and its outputs are the bias alone.
__device__ constexpr int sum_phase(int r_d, int r_h, int r_w) {
    const int d = AxisD::tapped_index(r_d);
    const int h = AxisH::tapped_index(r_h);
    const int w = AxisW::tapped_index(r_w);
    return d < 0 || h < 0 || w < 0 ? -1 : (d * AxisH::tapped + h) * AxisW::tapped + w;
}

/// What a round of storing is about.
struct Round {
    int r_d, r_h, r_w;   // phases along the axes; r_w only where outputs go phase by phase
    int first_channel;   // of the round's columns
    int channels;
    int warp_m;
};

/// Channels first: rows of positions with all their phases along w, contiguous in the tensor.
__device__ __forceinline__ void write_rows(const float* staging, const Element* bias, Element* output,
                                           const Place& place, int batch, const Round& round) {
    constexpr int phases = AxisW::block_phases;
    for (int i = threadIdx.x % 32; i < warp_rows * phases; i += 32) {
        const int row = i / phases;
        const int r_w = AxisW::joined ? i - row * phases : place.phase_w;
        const Target target =
            target_of(place, batch, round.warp_m * warp_rows + row, round.r_d, round.r_h, r_w);
        if (!target.inside) continue;
        const int index = sum_phase(AxisD::joined ? round.r_d : 0, AxisH::joined ? round.r_h : 0,
                                    AxisW::joined ? r_w : 0);
        const int column = packed ? index * out_group : index % AxisW::tapped * 8;
        Element* address = output + target.offset + round.first_channel * static_cast<Index>(output_volume);
#pragma unroll 8
        for (int c = 0; c < round.channels; ++c) {
            const float sum = index >= 0 ? staging[staged_word(column + c, row)] : 0.0f;
            *address = from_float<Element>(sum + bias_at(bias, place, round.first_channel + c));
            address += static_cast<Index>(output_volume);
        }
    }
}

/// Channels last: the channels of one phase of each position, contiguous in the tensor.
__device__ __forceinline__ void write_channels(const float* staging, const Element* bias, Element* output,
                                               const Place& place, int batch, const Round& round) {
    const int index = sum_phase(AxisD::joined ? round.r_d : 0, AxisH::joined ? round.r_h : 0,
                                AxisW::joined ? round.r_w : 0);
    const int first_column = packed && index >= 0 ? index * out_group : 0;
    for (int i = threadIdx.x % 32; i < warp_rows * round.channels; i += 32) {
        const int row = i / round.channels;
        const int c = i - row * round.channels;
        const Target target =
            target_of(place, batch, round.warp_m * warp_rows + row, round.r_d, round.r_h, round.r_w);
        if (!target.inside) continue;
        const int channel = round.first_channel + c;
        const float sum = index >= 0 ? staging[staged_word(first_column + c, row)] : 0.0f;
        output[target.offset + channel] = from_float<Element>(sum + bias_at(bias, place, channel));
    }
}

/// Runs `visit(r_d, r_h)` for the block's phases along depth and height.
template <class Visit>
__device__ __forceinline__ void for_each_phase(const Place& place, Visit&& visit) {
#pragma unroll
    for (int d = 0; d < AxisD::block_phases; ++d) {
#pragma unroll
        for (int h = 0; h < AxisH::block_phases; ++h)
            visit(d, h, AxisD::joined ? d : place.phase_d, AxisH::joined ? h : place.phase_h);
    }
}

/// Packed columns: staged once, read for each phase.
__device__ __forceinline__ void store_packed(const Sums& sums, float* staging, const Element* bias, Element* output,
                                             const Place& place, int batch, int warp_m) {
#pragma unroll
    for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
        for (int n = 0; n < n_fragments; ++n)
            stage_fragment(staging, sums[m][0][n], n * 8, m * 16);
    }
    __syncwarp();
    for (int d = 0; d < AxisD::block_phases; ++d) {
        for (int h = 0; h < AxisH::block_phases; ++h) {
            Round round{AxisD::joined ? d : place.phase_d, AxisH::joined ? h : place.phase_h, 0, 0, out_group, warp_m};
            if constexpr (channels_last) {
                for (int w = 0; w < AxisW::block_phases; ++w) {
                    round.r_w = AxisW::joined ? w : place.phase_w;
                    write_channels(staging, bias, output, place, batch, round);
                }
            } else {
                write_rows(staging, bias, output, place, batch, round);
            }
        }
    }
}

/// Channels first: for each phase along depth and height and each fragment of channels all phases along w.
__device__ __forceinline__ void store_rows(const Sums& sums, float* staging, const Element* bias, Element* output,
                                           const Place& place, int batch, int warp_m, int first_channel) {
    for_each_phase(place, [&](int d, int h, int r_d, int r_h) {
        const int index = sum_phase(d, h, AxisW::joined ? AxisW::tapped_phase(0) : 0);
#pragma unroll
        for (int n = 0; n < n_fragments; ++n) {
            const int channel = first_channel + 8 * n;
            if (channel >= out_group) break;
            if (index >= 0) {
                __syncwarp();
#pragma unroll
                for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
                    for (int w = 0; w < AxisW::tapped; ++w)
                        stage_fragment(staging, sums[m][index + w][n], w * 8, m * 16);
                }
                __syncwarp();
            }
            write_rows(staging, bias, output, place, batch,
                       {r_d, r_h, 0, channel, min(8, out_group - channel), warp_m});
        }
    });
}

/// Channels last: for each phase all channels of the warp.
__device__ __forceinline__ void store_channels(const Sums& sums, float* staging, const Element* bias, Element* output,
                                               const Place& place, int batch, int warp_m, int first_channel) {
    if (first_channel >= out_group) return;
    for_each_phase(place, [&](int d, int h, int r_d, int r_h) {
#pragma unroll
        for (int w = 0; w < AxisW::block_phases; ++w) {
            const int index = sum_phase(d, h, w);
            if (index >= 0) {
                __syncwarp();
#pragma unroll
                for (int m = 0; m < m_fragments; ++m) {
#pragma unroll
                    for (int n = 0; n < n_fragments; ++n)
                        stage_fragment(staging, sums[m][index][n], n * 8, m * 16);
                }
                __syncwarp();
            }
            write_channels(staging, bias, output, place, batch,
                           {r_d, r_h, AxisW::joined ? w : place.phase_w, first_channel,
                            min(8 * n_fragments, out_group - first_channel), warp_m});
        }
    });
}

}  // namespace tconv::mma
