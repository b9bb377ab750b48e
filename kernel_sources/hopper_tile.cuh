// The tiles of the hopper family's products: which positions, phases and columns each has, and where its outputs lie.
#pragma once

#include "hopper_shape.cuh"

namespace tconv::hopper {

/// One tile of the output.
struct Tile {
    int phase_class;
    int phase_d, phase_h, phase_w;  // 0 along joined axes
    int group;
    int column;         // first of the product, a multiple of tile_n
    int q_d, q_h, q_w;  // first position of the box
    int past_line;      // of lines: places of the first one before the tile's
    int batch;          // first entry of the box; where positions are in order its first run
    Taps taps_d, taps_h, taps_w;
    int first_block, end_block;  // of input channels

    __device__ int taps() const { return steps_d(taps_d) * taps_h.count * steps_w(taps_w); }
    __device__ int first_place() const { return batch * run_positions; }
};

/// Planes of the input that a walk reads, of `all` those [begin, end) that are not zeros alone. Plane 0 reaches the
/// first output with the last tap.
constexpr int plane_taps = AxisD::max_taps;
struct Walked {
    int begin, end, all;
};
__device__ __forceinline__ Walked walked_planes(const Tile& tile) {
    if constexpr (!walk) return {0, 1, 1};
    const int left = AxisD::first(tile.phase_d) + AxisD::positions_of(tile.phase_d) - tile.q_d;
    const int all = min(left, AxisD::box) + plane_taps - 1;
    const int begin = max(plane_taps - 1 + tile.taps_d.offset - tile.q_d, 0);
    return {begin, max(min(plane_taps - 1 + tile.taps_d.offset - tile.q_d + AxisD::input, all), begin), all};
}

/// The tap of the tile's phases, of joined axes the first, in a step along K.
__device__ __forceinline__ int tap_of(const Tile& tile, int j_d, int j_h, int j_w) {
    const int k_d = tile.taps_d.first + j_d * static_cast<int>(AxisD::Phases::kernel_step);
    const int k_h = tile.taps_h.first + j_h * static_cast<int>(AxisH::Phases::kernel_step);
    const int k_w = tile.taps_w.first + j_w * static_cast<int>(AxisW::Phases::kernel_step);
    return (k_d * AxisH::kernel + k_h) * AxisW::kernel + k_w;
}

/// Boxes and tiles of columns that the blocks of a cluster take together.
constexpr int box_step = share_weights ? cluster_blocks : 1;
constexpr int column_step = share_input ? cluster_blocks : 1;

/// How many numbers the tiles have that lie in `boxes` boxes.
__device__ __forceinline__ int places_of(int boxes) {
    return (boxes + box_step - 1) / box_step * (tiles_n / column_step) * static_cast<int>(problem::groups);
}

/// How many boxes cover the positions of a tile's phases along each axis, and the batch.
struct Pieces {
    int d, h, w, n;

    __device__ int all() const { return w * h * d * n; }
};
__device__ __forceinline__ int count_batches(int batch) {
    return ((in_order ? count_runs(batch) : batch) + box_n - 1) / box_n;
}
/// Tiles that cover the places of a plane, where taps are columns.
__device__ __forceinline__ int plane_tiles(int positions_h) {
    return (positions_h * pitch_w + tile_places - 1) / tile_places;
}
__device__ __forceinline__ Pieces pieces_of(const Tile& tile, int batch) {
    return {in_order ? 1 : AxisD::pieces(tile.phase_d),
            in_order      ? 1
            : tap_columns ? plane_tiles(AxisH::positions_of(tile.phase_h))
                          : AxisH::pieces(tile.phase_h),
            flat ? 1 : AxisW::pieces(tile.phase_w), count_batches(batch)};
}
/// The same of all phases, of which some may have fewer.
__device__ __forceinline__ Pieces most_pieces(int batch) {
    return {line_runs ? 1 : AxisD::most_pieces(),
            line_runs     ? 1
            : tap_columns ? plane_tiles(AxisH::most_positions())
                          : AxisH::most_pieces(),
            AxisW::most_pieces(), count_batches(batch)};
}

/// The column, the first position of the box and what else follows from the phases, for block `rank` of a cluster; of
/// an odd number of boxes the last one's neighbour lies behind the last batch entry.
__device__ __forceinline__ void place_tile(Tile& tile, int number, int rank, const Pieces& pieces) {
    if constexpr (config::tile_order != 0) tile.column = split_off(number, tiles_n / column_step);
    int box = number;
    if constexpr (config::tile_order == 0 || problem::groups > 1) {
        box = split_off(number, (pieces.all() + box_step - 1) / box_step);
        if constexpr (config::tile_order == 0) tile.column = split_off(number, tiles_n / column_step);
        tile.group = number;
    } else {
        tile.group = 0;
    }
    tile.column = (tile.column * column_step + (share_input ? rank : 0)) * tile_n;
    box = box * box_step + (share_weights ? rank : 0);
    tile.q_w = AxisW::first(tile.phase_w) + split_off(box, pieces.w) * AxisW::box;
    const int number_h = split_off(box, pieces.h);
    const int first_place = number_h * tile_places;
    tile.q_h = AxisH::first(tile.phase_h) + (tap_columns ? first_place / pitch_w : number_h * AxisH::box);
    tile.q_d = AxisD::first(tile.phase_d) + split_off(box, pieces.d) * AxisD::box;
    tile.batch = box * box_n;
    tile.past_line = tap_columns ? first_place % pitch_w : line_runs ? tile.first_place() % pitch_w : 0;
    tile.taps_d = AxisD::taps(tile.phase_d);
    tile.taps_h = AxisH::taps(tile.phase_h);
    tile.taps_w = AxisW::taps(tile.phase_w);
}

__device__ __forceinline__ void set_phases(Tile& tile, int phase_class) {
    tile.phase_class = phase_class;
    tile.phase_w = split_off(phase_class, AxisW::classes);
    tile.phase_h = split_off(phase_class, AxisH::classes);
    tile.phase_d = phase_class;
}

/// Tile `number` of a call; false past the last. Numbers of a cluster's blocks follow each other, and the answer is the
/// same for all. Either phases with many taps come first, so that the last wave is of short ones; or all phases of a
/// box lie together (tile_order 2), and what they share stays in the L2 cache.
__device__ __forceinline__ bool find_tile(Tile& tile, int number, int batch) {
    const int rank = split_off(number, cluster_blocks);
    const int split = split_off(number, splits);
    tile.first_block = split * channel_blocks / splits;
    tile.end_block = (split + 1) * channel_blocks / splits;
    if constexpr (config::tile_order == 2) {
        const Pieces pieces = most_pieces(batch);
        if (number >= classes * places_of(pieces.all())) return false;
        const int phase_class = split_off(number, classes);
        // Blocks take every so many tiles: turned, so that none always has the same phase.
        set_phases(tile, (phase_class + number) % classes);
        place_tile(tile, number, rank, pieces);
        return true;
    }
    for (int phase_class = 0; phase_class < classes; ++phase_class) {
        set_phases(tile, phase_class);
        const Pieces pieces = pieces_of(tile, batch);
        const int count = places_of(pieces.all());
        if (number < count) {
            place_tile(tile, number, rank, pieces);
            return true;
        }
        number -= count;
    }
    return false;
}

/// The number of one split of a tile, which has number `tile` among the whole ones.
__device__ __forceinline__ int split_number(int tile, int split) {
    const int rank = split_off(tile, cluster_blocks);
    return (tile * splits + split) * cluster_blocks + rank;
}

/// A position of a tile: its batch entry, or -1 outside the box or the batch, and the output that phase 0 of a joined
/// axis, the tile's phase of another one has there; that may lie outside the output.
struct Position {
    int batch;
    int out_d, out_h, out_w;
};
__device__ __forceinline__ Position position_in_order(int entry, int position) {
    const int w = split_off(position, static_cast<int>(problem::input_w));
    const int h = split_off(position, static_cast<int>(problem::input_h));
    return {entry, position * AxisD::stride - AxisD::padding, h * AxisH::stride - AxisH::padding,
            w * AxisW::stride - AxisW::padding};
}
/// The end of the rows whose outputs this warpgroup has, where taps are columns.
__device__ __forceinline__ int end_row() {
    return (static_cast<int>(threadIdx.x) / k_warpgroup + 1) * group_places;
}
__device__ __forceinline__ Position position_of(const Tile& tile, int row, int batch) {
    constexpr int volume = static_cast<int>(input_volume);
    if constexpr (raw_input) {
        const int run = tile.batch + row / run_positions;
        const int position = run % entry_runs * run_positions + row % run_positions;
        return position_in_order(run < batch * entry_runs && position < volume ? run / entry_runs : -1, position);
    } else if constexpr (flat) {
        const int number = tile.first_place() + row;
        return position_in_order(number / volume < batch ? number / volume : -1, number % volume);
    }
    int rest = row;
    int w = 0;
    int h = 0;
    if constexpr (line_runs) {
        rest += tile.first_place();
        w = split_off(rest, pitch_w);
        h = split_off(rest, plane_lines);
    } else if constexpr (tap_columns) {
        rest += tile.past_line;
        w = split_off(rest, pitch_w);
        h = split_off(rest, AxisH::box);
    } else if constexpr (reuse) {
        w = split_off(rest, part_w);
        h = split_off(rest, part_h);
        w += split_off(rest, parts_w) * part_w;
        h += split_off(rest, parts_h) * part_h;
    } else {
        w = split_off(rest, AxisW::box);
        h = split_off(rest, AxisH::box);
    }
    const int d = split_off(rest, line_runs ? entry_planes : in_lines ? 1 : AxisD::box);
    const int entry = line_runs ? rest : tile.batch + rest;
    const bool present =
        entry < batch && (in_lines ? w < AxisW::box : rest < box_n) && (!tap_columns || row < end_row());
    return {present ? entry : -1, (tile.q_d + d) * AxisD::stride + tile.phase_d - AxisD::before,
            (tile.q_h + h) * AxisH::stride + tile.phase_h - AxisH::before,
            (tile.q_w + w) * AxisW::stride + tile.phase_w - AxisW::before};
}

/// The first position of product `part` within a box of whole products.
struct BoxPlace {
    int n, d, h, w;
};
__device__ __forceinline__ BoxPlace corner_of(int part) {
    const int w = split_off(part, parts_w) * part_w;
    const int h = split_off(part, parts_h) * part_h;
    const int d = split_off(part, AxisD::box);
    return {part, d, h, w};
}
/// The first row of the input's tile that product `part` of the tile takes at no shift; of lines, behind the tile's
/// first place.
__device__ __forceinline__ int first_row(int part) {
    if constexpr (tap_columns) return part / rows * group_places + part % rows * k_product_rows;
    if constexpr (!reuse || in_lines) return part * k_product_rows;
    const BoxPlace corner = corner_of(part);
    return ((corner.n * pitch_d + corner.d) * pitch_h + corner.h) * pitch_w + corner.w;
}

/// First position along an axis that any tap of a tile reads.
template <class Axis>
__device__ __forceinline__ int box_corner(int q, const Taps& taps) {
    return q - taps.offset - Axis::halo;
}

/// Boxes of a block of channels: one, or where taps along the depth have their own one each.
__device__ __forceinline__ int boxes_of(const Taps& taps_d) {
    return plane_boxes ? steps_d(taps_d) : 1;
}

/// Offset of an output element, or -1 where it lies outside.
__device__ __forceinline__ i64 output_offset(const Position& at, const Column& column, int group) {
    const int d = at.out_d + column.slot_d;
    const int h = at.out_h + column.slot_h;
    const int w = at.out_w + column.slot_w;
    if (at.batch < 0 || d < 0 || d >= AxisD::output || h < 0 || h >= AxisH::output || w < 0 || w >= AxisW::output) {
        return -1;
    }
    const int channel = group * out_group + column.channel;
    const i64 line = channels_last ? at.batch : at.batch * problem::out_channels + channel;
    const i64 element = ((line * AxisD::output + d) * AxisH::output + h) * AxisW::output + w;
    return channels_last ? element * problem::out_channels + channel : element;
}

}  // namespace tconv::hopper
