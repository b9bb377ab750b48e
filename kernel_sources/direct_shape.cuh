// What the direct kernel knows of problem and config: phases, the tile, shared memory, and where a block and a thread
// work.
#pragma once

#include "elements.cuh"
#include "phases.cuh"
#include "split_off.cuh"
#include "tconv.cuh"

namespace tconv::direct {

using PhasesD = AxisPhases<problem::kernel_d, problem::stride_d, problem::dilation_d, problem::tap_divisor_d,
                           problem::tap_inverse_d>;
using PhasesH = AxisPhases<problem::kernel_h, problem::stride_h, problem::dilation_h, problem::tap_divisor_h,
                           problem::tap_inverse_h>;
using PhasesW = AxisPhases<problem::kernel_w, problem::stride_w, problem::dilation_w, problem::tap_divisor_w,
                           problem::tap_inverse_w>;

constexpr bool fused = config::fuse_phases != 0;
constexpr bool input_shared = config::input_shared != 0;
constexpr bool weight_shared = config::weight_shared != 0;
constexpr bool staged_store = config::staged_store != 0;
constexpr int block_size = config::block_size;
constexpr int tile_d = config::tile_d;
constexpr int tile_h = config::tile_h;
constexpr int tile_w = config::tile_w;
constexpr int pixels = config::pixels;
constexpr int channels = config::channels;
constexpr int chunk = config::channel_chunk;
constexpr int stages = config::stages;
constexpr int load_vector = config::load_vector;

constexpr int outputs = pixels * (fused ? static_cast<int>(problem::stride_w) : 1);  // of a thread along w, a channel
constexpr int columns = tile_w / pixels;                                             // threads along w
constexpr int position_threads = columns * tile_h * tile_d;
constexpr int channel_threads = block_size / position_threads;
constexpr int tile_channels = channel_threads * channels;

// Positions of an axis run from q_begin; position 0 + padding sits at q_begin * stride + some phase.
constexpr i64 q_begin_d = problem::padding_d / problem::stride_d;
constexpr i64 q_begin_h = problem::padding_h / problem::stride_h;
constexpr i64 q_begin_w = problem::padding_w / problem::stride_w;
constexpr i64 q_count_d = (problem::output_d - 1 + problem::padding_d) / problem::stride_d - q_begin_d + 1;
constexpr i64 q_count_h = (problem::output_h - 1 + problem::padding_h) / problem::stride_h - q_begin_h + 1;
constexpr i64 q_count_w = (problem::output_w - 1 + problem::padding_w) / problem::stride_w - q_begin_w + 1;

constexpr int halo_d = static_cast<int>(PhasesD::halo);
constexpr int halo_h = static_cast<int>(PhasesH::halo);
constexpr int halo_w = static_cast<int>(PhasesW::halo);
// Extra columns to the left of a row, so that a row of the tile starts at a multiple of load_vector in the tensor.
constexpr int lead =
    input_shared ? static_cast<int>(((q_begin_w - halo_w) % load_vector + load_vector) % load_vector) : 0;
constexpr int reach = halo_w + lead;    // column of position 0 of the tile at tap offset 0
constexpr int window = pixels + reach;  // columns that a thread's taps span

constexpr int row_pitch = config::row_pitch;
constexpr int tile_rows = (tile_d + halo_d) * (tile_h + halo_h);
constexpr int plane = tile_rows * row_pitch;
constexpr int input_stage = input_shared ? chunk * plane : 0;

// Taps that a stage of weights holds: those of the block's phase along d and h, and along w every tap when the phases
// are fused.
constexpr int taps_w_held = static_cast<int>(fused ? problem::kernel_w : PhasesW::max_taps);
constexpr int taps_h_held = static_cast<int>(PhasesH::max_taps);
constexpr int taps_d_held = static_cast<int>(PhasesD::max_taps);
constexpr int taps_held = taps_d_held * taps_h_held * taps_w_held;
constexpr int weight_pitch = config::weight_pitch;
constexpr int weight_stage = weight_shared ? chunk * taps_held * weight_pitch : 0;
constexpr int stage_size = input_stage + weight_stage;

constexpr i64 kernel_volume = problem::kernel_d * problem::kernel_h * problem::kernel_w;
constexpr i64 input_volume = problem::input_d * problem::input_h * problem::input_w;
constexpr i64 output_volume = problem::output_d * problem::output_h * problem::output_w;
constexpr int in_group = static_cast<int>(problem::in_channels / problem::groups);
constexpr int out_group = static_cast<int>(problem::out_channels / problem::groups);
constexpr int chunk_count = (in_group + chunk - 1) / chunk;
constexpr bool ragged_chunks = in_group % chunk != 0;

/// Widest vector, in floats, that divides `count`.
__device__ constexpr int vector_for(int count) {
    return count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1;
}

/// Where a block and a thread work.
struct Place {
    int batch;
    int group;
    int channel;        // first output channel of the thread, within the group
    int block_channel;  // first output channel of the block, within the group
    int phase_d, phase_h, phase_w;
    Index q_d, q_h, q_w;  // first position of the tile
    int column, row_h, row_d;
    Taps taps_d, taps_h, taps_w;
};

__device__ __forceinline__ Place place_of_block() {
    Place place{};
    i64 number = blockIdx.x;
    place.block_channel = split_off(number, (out_group + tile_channels - 1) / tile_channels) * tile_channels;
    place.phase_w = fused ? 0 : split_off(number, problem::stride_w);
    place.phase_h = split_off(number, problem::stride_h);
    place.phase_d = split_off(number, problem::stride_d);
    place.q_w = static_cast<Index>(q_begin_w) + split_off<Index>(number, (q_count_w + tile_w - 1) / tile_w) * tile_w;
    place.q_h = static_cast<Index>(q_begin_h) + split_off<Index>(number, (q_count_h + tile_h - 1) / tile_h) * tile_h;
    place.q_d = static_cast<Index>(q_begin_d) + split_off<Index>(number, (q_count_d + tile_d - 1) / tile_d) * tile_d;
    place.group = split_off(number, problem::groups);
    place.batch = static_cast<int>(number);
    const int thread = threadIdx.x;
    place.column = thread % columns;
    place.row_h = thread / columns % tile_h;
    place.row_d = thread / (columns * tile_h) % tile_d;
    place.channel = place.block_channel + thread / position_threads * channels;
    place.taps_d = PhasesD::taps(place.phase_d);
    place.taps_h = PhasesH::taps(place.phase_h);
    place.taps_w = PhasesW::taps(place.phase_w);
    return place;
}

}  // namespace tconv::direct
