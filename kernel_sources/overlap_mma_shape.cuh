// What the kernels of the overlap_mma and the overlap_mma32 family know of problem and config.
//
// The product of one group: positions of the input times (output channel, tap) in the weights' own order, summed over
// the input channels. Each product is one output's share.
//
// Positions of a product are windows of images.
#pragma once

#include "shares.cuh"
#include "wgmma.cuh"

namespace tconv::overlap_mma {

constexpr int in_group = static_cast<int>(problem::in_channels / problem::groups);
constexpr int out_group = static_cast<int>(problem::out_channels / problem::groups);
constexpr int groups = static_cast<int>(problem::groups);
using shares::taps;

constexpr int consumers = config::consumers;
constexpr int rows = config::rows;
constexpr int threads = (consumers + 1) * k_warpgroup;
/// Warpgroups whose positions are one range, of which they gather the outputs together.
constexpr int team_warpgroups = config::together != 0 ? consumers : 1;
constexpr int teams = consumers / team_warpgroups;
constexpr int team_threads = team_warpgroups * k_warpgroup;
constexpr int k_product_rows = 64;
/// Rows of a team's shares in shared memory, its positions among them.
constexpr int share_rows = config::share_rows;

/// Positions that are copied as one piece.
constexpr int run = config::run;
constexpr int window_runs = config::window_runs;
constexpr int window_rows = window_runs * run;
constexpr int team_windows = config::team_windows;
constexpr int tile_windows = teams * team_windows;
static_assert(team_windows * window_rows <= share_rows, "a team's windows are rows of its shares");

using shares::first_position;
using shares::slices;
using shares::whole_images;

constexpr int tile_channels = config::tile_channels;
constexpr int pass_channels = config::pass_channels;
constexpr int product_n = config::product_n;
constexpr int tiles_n = (out_group + tile_channels - 1) / tile_channels;

/// Input channels of a stage, and of the last one.
constexpr int chunk_channels = config::chunk;
constexpr int chunks = (in_group + chunk_channels - 1) / chunk_channels;
constexpr int last_channels = in_group - (chunks - 1) * chunk_channels;

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
