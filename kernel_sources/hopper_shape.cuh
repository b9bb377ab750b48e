// What the hopper family's kernels know of problem and config: the product's shape, where packed operands lie, and
// which tile of the output is which.
//
// The product: M = positions (batch entries included), N = output channels of one group and the phases that are joined,
// K = input channels and taps. Output o and position q of an axis are tied by o + padding = q * stride + phase.
#pragma once

#include "elements.cuh"
#include "hopper_parts.cuh"
#include "wgmma.cuh"

namespace tconv::hopper {

/// What is multiplied: 16-bit elements as they are (math 0), fp32 rounded to TF32 (1), fp32 as the sum of two bf16 (3).
using Operand = Either<config::math == 0, Element, Either<config::math == 1, tf32, bf16>::type>::type;
constexpr bool split = config::math == 3;

constexpr bool channels_last = problem::channels_last;
constexpr bool packed_input = config::pack_input != 0;
/// Tensors are read as they lie: an input of 16 bits, channels first, that no tap shifts is M-major; such an input of
/// 32 bits goes into registers. Weights of 16 bits are N-major.
constexpr bool raw_input = config::raw_input != 0;
constexpr bool raw_weights = config::raw_weights != 0;
/// Boxes of channels-first input are brought into the operand's order inside the block; or read by the lanes that
/// multiply, as they lie, into registers.
constexpr bool block_pack = config::block_pack == 1;
constexpr bool raw_boxes = config::block_pack != 0;
/// 16-bit elements by matrices, which also write a row behind the box (hopper_pack_matrices.cuh).
constexpr bool matrix_pack = block_pack && problem::element_bytes == 2;
constexpr bool register_input = config::block_pack == 2 || (raw_input && problem::element_bytes == 4);
constexpr Major input_major = raw_input && !register_input ? Major::mn : Major::k;
constexpr Major weight_major = raw_weights ? Major::mn : Major::k;

/// Elements of the input's tensor map in an operand row: fp32 where it rounds them on the way, else 16 bits each.
constexpr int map_row = sizeof(Operand) == 4 && !packed_input ? 32 : 64;

constexpr int consumers = config::consumers;  // warpgroups that multiply
constexpr int rows = config::rows;            // products of 64 rows a warpgroup
constexpr int tile_m = k_warpgroup / 2 * rows * consumers;
constexpr int tile_n = config::tile_n;
constexpr int threads = k_warpgroup * (consumers + 1);

/// Channels of one operand row: 64 of 16 bits, 32 of TF32; of split ones 32 high parts, then their low parts.
constexpr int block_channels = sizeof(Operand) == 4 || split ? 32 : 64;
constexpr int in_group = static_cast<int>(problem::in_channels / problem::groups);
constexpr int out_group = static_cast<int>(problem::out_channels / problem::groups);
constexpr int channel_blocks = (in_group + block_channels - 1) / block_channels;
/// Pieces along K of one product each, of a block of channels and of the last one, whose others have zeros alone.
constexpr int block_pieces = k_operand_row / k_operand_step / (split ? 2 : 1);
constexpr int piece_channels = block_channels / block_pieces;
constexpr int last_pieces = (in_group - (channel_blocks - 1) * block_channels + piece_channels - 1) / piece_channels;
/// Where there are too few tiles, blocks share the channels of one, and a launch of its own adds their sums up.
constexpr int splits = config::splits;
/// Two blocks of a cluster take neighbouring tiles in step, and what both need is loaded once: weights for the same
/// columns at two boxes of positions (cluster 2), input for two tiles of columns at the same positions (3).
constexpr int cluster_blocks = config::cluster > 1 ? 2 : 1;
constexpr bool share_weights = config::cluster == 2;
constexpr bool share_input = config::cluster == 3;
constexpr i64 kernel_volume = problem::kernel_d * problem::kernel_h * problem::kernel_w;
constexpr i64 input_volume = problem::input_d * problem::input_h * problem::input_w;

constexpr int box_n = config::box_n;
constexpr int box_rows = box_n * AxisD::box * AxisH::box * AxisW::box;
static_assert(config::reuse >= 3 || box_rows <= tile_m, "the rows of a tile hold a box of positions");

// Input that several taps read is loaded once, with a halo (reuse): the rows of a product are then eight times eight
// positions (1), 64 along the width (2), or 64 places of lines that follow one another, of positions and halo (3), and
// each tap begins at another row. Of such lines each tap along the depth may load its own box, without the halo there
// (4). Otherwise each step along K loads its own box, and rows are the positions in order.
constexpr bool reuse = config::reuse != 0;
constexpr bool in_lines = config::reuse >= 3;
constexpr bool plane_boxes = config::reuse == 4;
constexpr int k_product_rows = 64;
constexpr int part_w = config::reuse == 2 ? k_product_rows : 8;
constexpr int part_h = k_product_rows / part_w;
constexpr int parts_w = AxisW::box / part_w;
constexpr int parts_h = AxisH::box / part_h;
static_assert(!raw_boxes || (reuse && (!in_lines || config::tap_columns != 0) && !channels_last && !packed_input),
              "a box is packed once for all taps");
static_assert(!reuse || in_lines || (box_rows == tile_m && AxisW::box % part_w == 0 && AxisH::box % part_h == 0),
              "a box is whole products");
constexpr int pitch_w = in_lines ? config::line_places : AxisW::box + (reuse ? AxisW::halo : 0);
constexpr int pitch_h = AxisH::box + (reuse ? AxisH::halo : 0);
constexpr int pitch_d = plane_boxes ? 1 : AxisD::box + (reuse ? AxisD::halo : 0);
constexpr int input_rows = (in_lines ? 1 : box_n) * pitch_d * pitch_h * pitch_w;

// A box of channels-first input as it lies: [batch entry][channel][depth][height][width], or for matrices
// [batch entry][depth][height][channel][width]. Its lines begin at a multiple of 16 bytes, so the box does some
// elements (the lead) after them.
constexpr int raw_width = config::raw_width;
constexpr int raw_channel = pitch_d * config::raw_height * raw_width;
constexpr int raw_channel_bytes = raw_channel * problem::element_bytes;
constexpr int raw_aligned = 16 / problem::element_bytes;
static_assert(!(raw_boxes || register_input) ||
                  (raw_width >= pitch_w + raw_aligned - 1 && raw_width % raw_aligned == 0),
              "a line holds that of the box wherever it begins");
/// An element of a channel, counted from its first.
__device__ constexpr int raw_offset(int d, int h, int w) {
    return (d * config::raw_height + h) * raw_width + w;
}

// Where no tap shifts the input (flat), the positions of all entries may be one axis, cut into runs of 64, which are
// one product's; a box is runs behind one another. Raw input begins a run with each entry: there a run is an operand
// row for each channel. Lines of positions, with their halo, of all planes and entries are one axis likewise: a tile is
// places along it, its box the lines that these are of, and the halo's.
constexpr bool flat = config::flat != 0;
/// Where taps are columns a product has shares of the positions of its rows and of those before; the places of
/// warpgroups, and of tiles, overlap by the halo. Tiles are then places of one plane.
constexpr bool tap_columns = config::tap_columns != 0;
/// Taps along the depth are columns too: a tile walks along the depth, plane by plane of the input.
constexpr bool walk = config::tap_columns == 2;
constexpr bool line_runs = in_lines && !tap_columns;
constexpr bool in_order = flat || line_runs;
constexpr int run_positions = k_product_rows;
constexpr int group_places = k_product_rows * rows - (tap_columns ? AxisW::halo : 0);
constexpr int tile_places = consumers * group_places;
constexpr int read_places = tile_places + (tap_columns ? AxisW::halo : 0);
constexpr int run_bytes = register_input ? block_channels * raw_channel_bytes : run_positions * k_operand_row;
constexpr int entry_runs = static_cast<int>((input_volume + run_positions - 1) / run_positions);
constexpr int plane_lines = config::plane_lines;
constexpr int entry_planes = AxisD::most_positions();
constexpr i64 entry_places = flat ? input_volume : static_cast<i64>(entry_planes) * plane_lines * pitch_w;
static_assert(!line_runs || AxisH::rows_follow(plane_lines),
              "what a tap reads past the end of a plane is zero, or that plane's");
static_assert(!in_lines || (AxisW::box <= pitch_w && (AxisW::box + AxisW::halo <= pitch_w ||
                                                      (AxisW::most_pieces() == 1 && AxisW::rows_follow(pitch_w)))),
              "what a tap reads past the end of a line is zero, or that line's");
static_assert(!in_lines || (AxisH::box - 1) * pitch_w + 1 >= read_places ||
                  (!tap_columns && tile_m == AxisH::box * pitch_w),
              "a tile's places lie in the lines of a box wherever it begins");
static_assert(!line_runs || (AxisD::box == 1 && box_n * run_positions == tile_m), "a tile is whole runs");
static_assert(!tap_columns || (in_lines && box_n == 1 && (walk || AxisD::box == 1)), "a tile is places of one plane");
/// Rows behind the box of lines that are zero: of its last line a tap reads so far.
constexpr int zero_rows = line_runs ? AxisW::halo : 0;
static_assert(!flat || (AxisW::box == run_positions && AxisH::box * AxisD::box == 1 && box_rows == tile_m),
              "a box is whole runs");
static_assert(!raw_input || (flat && run_positions == k_operand_values), "a run is an operand row, or a box of lanes'");

/// Runs of a call.
__device__ __forceinline__ int count_runs(int batch) {
    if constexpr (raw_input) return batch * entry_runs;
    return static_cast<int>((batch * entry_places + run_positions - 1) / run_positions);
}

/// Bytes from eight rows of a product to the next.
constexpr int input_eights = k_operand_row * (config::reuse == 1 ? pitch_w : 8);
constexpr int weight_eights = k_operand_row * 8;

// Shared memory: inputs and weights in rings of their own, with one set of barriers where they go together: a step's.
// Weights that all tiles of a block need may stay instead (resident); with reuse steps then wait for nothing.
constexpr bool resident = config::resident != 0;
constexpr bool steps_wait = !(resident && reuse);
constexpr int input_stages = config::input_stages;
constexpr int step_stages = config::step_stages;
constexpr int weight_stages = config::weight_stages;
/// Steps of resident weights that arrive at one of at most 32 barriers.
constexpr int barrier_steps = (weight_stages + 31) / 32;
constexpr int box_bytes = register_input ? box_n * block_channels * raw_channel_bytes : input_rows * k_operand_row;
constexpr int stage_bytes =
    register_input ? box_bytes : (reuse ? input_rows + zero_rows + matrix_pack : tile_m) * k_operand_row;
constexpr int input_stage = (stage_bytes + 1023) / 1024 * 1024;
/// Raw weights are boxes of 64 columns.
constexpr int weight_boxes = (tile_n + k_operand_values - 1) / k_operand_values;
constexpr int weight_box = block_channels * k_operand_row;

constexpr int classes = AxisD::classes * AxisH::classes * AxisW::classes;
constexpr int slots_dh = AxisD::slots * AxisH::slots;
constexpr int slots = slots_dh * AxisW::slots;
constexpr int columns = slots * out_group;
constexpr int tiles_n = (columns + tile_n - 1) / tile_n;

/// Columns of a product. Where taps along the width are columns they are groups, one for each step: of the columns of a
/// tile, in eights; the last group has those alone whose slot has a tap there, as far as these come first.
constexpr int tap_group = (columns + 7) / 8 * 8;
__device__ constexpr int columns_of_step(int step) {
    int step_slots = 0;
    for (int slot = 0; slot < AxisW::slots; ++slot)
        step_slots += step < AxisW::slot_steps(slot).end ? 1 : 0;
    return channels_last ? step_slots * out_group : columns;
}
__device__ constexpr int group_columns(int step) {
    return (columns_of_step(step) + 7) / 8 * 8;
}
constexpr int plane_n = tap_columns ? (AxisW::max_taps - 1) * tap_group + group_columns(AxisW::max_taps - 1) : tile_n;
constexpr int product_n = walk ? AxisD::max_taps * plane_n : plane_n;
static_assert(!walk || (plane_boxes && AxisD::classes == 1 && AxisD::offset_step == 1), "planes follow one another");
static_assert(!tap_columns || (tiles_n == 1 && AxisW::classes == 1 && slots_dh == 1 && !AxisW::aligned),
              "the slots of a step come first");
constexpr int weight_stage = raw_weights ? weight_boxes * weight_box : product_n * k_operand_row;
/// Steps along the depth, and the width, of a tile whose phases have `taps` there.
__device__ constexpr int steps_d(const Taps& taps) {
    return walk ? 1 : taps.count;
}
__device__ constexpr int steps_w(const Taps& taps) {
    return tap_columns ? 1 : taps.count;
}
static_assert(!(share_weights && config::resident), "resident weights are loaded once");
static_assert(!share_input || tiles_n % cluster_blocks == 0, "tiles of columns come in pairs");

constexpr int part_n = product_n / parts;
constexpr int part_bytes = part_n * k_operand_row;
constexpr int part_slots = PartsD::slots * PartsH::slots * PartsW::slots;
static_assert(parts == 1 || (columns % tile_n == 0 && (channels_last || part_n % part_slots == 0)),
              "a tile is all phases of some columns");
static_assert(PartsW::count > 1 || !AxisW::aligned, "slots of an aligned axis have taps in different steps");

/// Parts of all steps along K for which packed weights of a tile have room.
constexpr i64 most_step_parts = static_cast<i64>(channel_blocks) * (walk ? 1 : PartsD::before(AxisD::max_taps)) *
                                PartsH::before(AxisH::max_taps) * (tap_columns ? 1 : PartsW::before(AxisW::max_taps));

/// Shared memory for weights: resident ones step by step, or a ring. Its stages are alike; or stage number j_h * steps
/// along the width + j_w is for the steps at these, with room for the parts that such a step has.
constexpr bool unlike_stages = config::unlike_stages != 0;
static_assert(!unlike_stages ||
                  (step_stages == PartsH::steps * PartsW::steps && PartsH::count > 1 && PartsW::count > 1),
              "stages follow the steps of joined axes");
__device__ constexpr int stage_place(int stage) {
    if (!unlike_stages) return stage * weight_stage;
    return PartsD::count * plane_parts_before(stage / PartsW::steps, stage % PartsW::steps, PartsW::steps) * part_bytes;
}
constexpr int resident_bytes = parts > 1 ? static_cast<int>(most_step_parts) * part_bytes : weight_stages* weight_stage;
constexpr int weight_room = resident ? resident_bytes : stage_place(step_stages);

/// A column of the product. Channels last, the channels of a phase lie together; otherwise the phases of a channel do:
/// either way neighbours in the output are neighbours here.
struct Column {
    int channel;
    int slot_d, slot_h, slot_w;
};
__device__ constexpr int column_of(const Column& c) {
    const int slot = (c.slot_d % PartsD::slots * PartsH::slots + c.slot_h % PartsH::slots) * PartsW::slots +
                     c.slot_w % PartsW::slots;
    const int number = channels_last ? slot * out_group + c.channel : c.channel * part_slots + slot;
    if (parts == 1) return number;
    const int part = part_number({c.slot_d / PartsD::slots, c.slot_h / PartsH::slots, c.slot_w / PartsW::slots});
    return number / part_n * tile_n + part * part_n + number % part_n;
}
__device__ constexpr Column column_at(int column) {
    u32 number = static_cast<u32>(column);
    int part = 0;
    if (parts > 1) {
        part = static_cast<int>(number % tile_n / part_n);
        number = number / tile_n * part_n + number % part_n;
    }
    constexpr u32 slots_h = PartsH::slots;
    constexpr u32 slots_w = PartsW::slots;
    constexpr u32 part_phases = part_slots;
    const u32 channel = channels_last ? number % out_group : number / part_phases;
    const u32 slot = channels_last ? number / out_group : number % part_phases;
    const PartPlace at = part_at(part);
    return {static_cast<int>(channel), at.d * PartsD::slots + static_cast<int>(slot / (slots_h * slots_w)),
            at.h * PartsH::slots + static_cast<int>(slot / slots_w % slots_h),
            at.w * PartsW::slots + static_cast<int>(slot % slots_w)};
}

/// Raw weights lie in units of columns that are neighbours in memory: those of one or several taps.
constexpr int unit_columns = config::unit_taps * out_group;
static_assert(!raw_weights || unit_columns == columns || unit_columns % k_operand_values == 0,
              "a box of columns is of one unit");

/// A box of raw weights: its first column within a unit, and the unit, where the tile's first phases have tap `tap`.
struct WeightBox {
    int column, unit;
};
__device__ __forceinline__ WeightBox weight_box_at(int column, int tap) {
    const int number = unit_columns == columns ? 0 : column / unit_columns;
    const Column first = column_at(number * unit_columns);
    const int past = (first.slot_d * AxisH::kernel + first.slot_h) * AxisW::kernel + first.slot_w;
    return {column - number * unit_columns, (tap + past) / config::unit_taps};
}

/// Where the packed weights of a tile's columns begin, in bytes; those of one step lie together as the operand's image,
/// part by part.
__device__ __forceinline__ i64 packed_weights(int phase_class, int group, int tile) {
    const i64 number = (static_cast<i64>(phase_class) * problem::groups + group) * tiles_n + tile;
    return number * most_step_parts * part_bytes;
}

/// Takes `count` values off a running number.
template <class Number>
__device__ __forceinline__ int split_off(Number& number, int count) {
    const Number digit = number % static_cast<Number>(count);
    number /= static_cast<Number>(count);
    return static_cast<int>(digit);
}

}  // namespace tconv::hopper
