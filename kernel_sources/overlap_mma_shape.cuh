// What the overlap_mma family's kernel knows of problem and config.
//
// The product of one group: M = positions of the input, N = (output channel, tap) in the weights' own order, K = input
// channels. Each product is one output's share: output o of an axis gets those of all positions q and taps k with o +
// padding = q * stride + k * dilation. With o = u * stride + v, all u have the same taps at a v, and the position of
// tap j is u minus a shift that depends on v and j alone.
//
// Rows of a product are windows: whole images, or slices of them along the outermost axis, neighbours of which have
// some positions in common. All shares of an output are of one window.
#pragma once

#include "elements.cuh"
#include "phases.cuh"
#include "wgmma.cuh"

namespace tconv::overlap_mma {

constexpr int in_group = static_cast<int>(problem::in_channels / problem::groups);
constexpr int out_group = static_cast<int>(problem::out_channels / problem::groups);
constexpr int groups = static_cast<int>(problem::groups);
constexpr int taps = static_cast<int>(problem::kernel_d * problem::kernel_h * problem::kernel_w);
constexpr int output_volume = static_cast<int>(problem::output_d * problem::output_h * problem::output_w);

template <i64 Input, i64 Kernel, i64 Stride, i64 Padding, i64 Dilation, i64 Divisor, i64 Inverse, i64 Output>
struct Axis {
    using Phases = AxisPhases<Kernel, Stride, Dilation, Divisor, Inverse>;
    static constexpr int input = static_cast<int>(Input);
    static constexpr int kernel = static_cast<int>(Kernel);
    static constexpr int stride = static_cast<int>(Stride);
    static constexpr int output = static_cast<int>(Output);
    static constexpr int max_taps = static_cast<int>(Phases::max_taps);
    /// Runs of `stride` outputs, the last of which may be short.
    static constexpr int units = (output + stride - 1) / stride;
    static constexpr bool whole_units = output % stride == 0;
    /// Of all taps.
    static constexpr int least_shift = -static_cast<int>((Padding + Stride - 1) / Stride);
    static constexpr int shifts =
        static_cast<int>(((Kernel - 1) * Dilation - least_shift * Stride - Padding) / Stride) + 1;
    static constexpr int most_shift = least_shift + shifts - 1;

    /// The taps of output number `v` of a run.
    __device__ static constexpr Taps taps(int v) { return Phases::taps((v + Padding) % Stride); }
    __device__ static constexpr int tap(int v, int j) {
        return taps(v).first + j * static_cast<int>(Phases::kernel_step);
    }
    __device__ static constexpr int shift(int v, int j) {
        return taps(v).offset + j * static_cast<int>(Phases::offset_step) - static_cast<int>((v + Padding) / Stride);
    }
    __device__ static constexpr bool inside(int position) { return position >= 0 && position < input; }
};
#define TCONV_AXIS(axis)                                                                                 \
    Axis<problem::input_##axis, problem::kernel_##axis, problem::stride_##axis, problem::padding_##axis, \
         problem::dilation_##axis, problem::tap_divisor_##axis, problem::tap_inverse_##axis, problem::output_##axis>
using AxisD = TCONV_AXIS(d);
using AxisH = TCONV_AXIS(h);
using AxisW = TCONV_AXIS(w);
#undef TCONV_AXIS

constexpr int consumers = config::consumers;
constexpr int rows = config::rows;
constexpr int threads = (consumers + 1) * k_warpgroup;
/// Warpgroups whose rows are one range, of which they gather the outputs together.
constexpr int team_warpgroups = config::together != 0 ? consumers : 1;
constexpr int teams = consumers / team_warpgroups;
constexpr int team_threads = team_warpgroups * k_warpgroup;
constexpr int k_product_rows = 64;
constexpr int team_rows = team_warpgroups * rows * k_product_rows;
constexpr int tile_rows = teams * team_rows;

/// Positions that are copied as one piece.
constexpr int run = config::run;
constexpr int window_runs = config::window_runs;
constexpr int window_rows = window_runs * run;
constexpr int team_windows = config::team_windows;
constexpr int tile_windows = teams * team_windows;
static_assert(team_windows * window_rows <= team_rows, "a team's windows are rows of its product");

constexpr bool whole_images = config::whole != 0;
/// The axis along which images are sliced, the number of slices, and of each the runs of outputs along it.
constexpr int slices = config::slices;
constexpr int slice_units = config::slice_units;
constexpr int slice_axis = whole_images || problem::input_d > 1 ? 0 : problem::input_h > 1 ? 1 : 2;
constexpr int line = static_cast<int>(slice_axis == 0   ? problem::input_h * problem::input_w
                                      : slice_axis == 1 ? problem::input_w
                                                        : 1);
constexpr int slice_lead = slice_axis == 0   ? AxisD::most_shift
                           : slice_axis == 1 ? AxisH::most_shift
                                             : AxisW::most_shift;
/// Copies begin at multiples of 16 bytes.
constexpr int k_aligned_positions = 8;

/// The first position of a slice of an image; it may lie before the image.
__device__ __forceinline__ int first_position(int slice) {
    return whole_images ? 0 : (slice * slice_units - slice_lead) * line & -k_aligned_positions;
}

constexpr int tile_channels = config::tile_channels;
constexpr int pass_channels = config::pass_channels;
constexpr int product_n = config::product_n;
constexpr int tiles_n = (out_group + tile_channels - 1) / tile_channels;
static_assert(tile_channels * taps <= product_n, "columns of whole channels");

/// Input channels of a stage, and steps along K of the last one.
constexpr int chunk_channels = config::chunk;
constexpr int chunks = (in_group + chunk_channels - 1) / chunk_channels;
constexpr int chunk_steps = chunk_channels / k_operand_depth;
constexpr int last_steps = (in_group - (chunks - 1) * chunk_channels + k_operand_depth - 1) / k_operand_depth;

/// Blocks of a cluster have the same columns of different windows.
constexpr int cluster_blocks = config::cluster;

/// Which tiles neighbouring clusters take: other columns of the same windows, or the same columns of others.
constexpr bool columns_inner = config::columns_inner != 0;

/// A block's share of the work: windows from `window` on, output channels of a group from `channel` on.
struct Tile {
    int window;
    int channel;
    int group;
};
/// The last cluster may have windows behind the last image, whose copies are zeros.
__device__ __forceinline__ bool find_tile(Tile& tile, int number, int windows) {
    constexpr int cluster_windows = cluster_blocks * tile_windows;
    constexpr int columns = tiles_n * groups;
    const int all_rows = (windows + cluster_windows - 1) / cluster_windows;
    const int column = columns_inner ? number % columns : number / all_rows;
    const int row = columns_inner ? number / columns : number % all_rows;
    tile.channel = column % tiles_n * tile_channels;
    tile.group = column / tiles_n;
    tile.window = row * cluster_windows + static_cast<int>(blockIdx.x) % cluster_blocks * tile_windows;
    return row < all_rows && column < columns;
}

/// The tiles of a cluster's blocks have the same numbers.
__device__ __forceinline__ int first_number() {
    return blockIdx.x / cluster_blocks;
}
__device__ __forceinline__ int number_step() {
    return gridDim.x / cluster_blocks;
}

}  // namespace tconv::overlap_mma
