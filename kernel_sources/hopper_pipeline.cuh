// The stages of shared memory between the producer of a block and those that multiply, and what the producer does:
// rings of stages, the barriers of each, copies. Blocks of a cluster fill them together where they need the same.
#pragma once

#include "cluster.cuh"
#include "hopper_order.cuh"
#include "hopper_stage.cuh"

namespace tconv::hopper {

/// Registers of a thread: 64K are shared by the blocks of a multiprocessor, and what the copying warpgroup gives the
/// others take.
constexpr int k_all_registers = 65536;
constexpr int registers_at_start = k_all_registers / (threads * config::blocks) / 8 * 8;
constexpr int producer_registers = block_pack ? (walk ? 104 : 80) : consumers >= 3 ? 32 : 40;
constexpr int registers_left =
    ((registers_at_start > 255 ? 248 : registers_at_start) * (consumers + 1) - producer_registers) / consumers / 8 * 8;
constexpr int consumer_registers = registers_left > 240 ? 240 : registers_left;
constexpr bool share_registers = consumer_registers > registers_at_start;

/// Barriers of stages of shared memory that are filled and used in turn.
struct Ring {
    Barrier* full;   // the stage's operands have arrived
    Barrier* empty;  // every consumer is done with them
};

// Rings that the blocks of a cluster fill together: a stage is empty when the consumers of all are done with it.
constexpr bool shared_step_ring = share_weights || (share_input && !reuse);
constexpr bool shared_input_ring = share_input;
constexpr u16 k_all_blocks = (1 << cluster_blocks) - 1;

/// Raw slices of boxes that are packed inside the block (hopper_block_pack.cuh), and the warps that pack.
constexpr int raw_stages = config::raw_stages;
constexpr int raw_stage = config::raw_stage_bytes;
constexpr int k_packing_warps = 3;
constexpr int k_packing_threads = 32 * k_packing_warps;
constexpr int raw_lines = pitch_d * pitch_h;

struct Pipeline {
    Ring input;  // with barriers of its own where boxes are reused
    Ring raw;
    Ring step;  // of the weights, unless they are resident, and of boxes that are not reused
    unsigned char* inputs;
    unsigned char* weights;
    Barrier* resident;  // weights have arrived, for good
    unsigned char* raw_slices;
    Barrier* ahead;    // number i: warpgroup i is so far that the next one may begin
    Barrier* planned;  // the block's plan is made
    Plan* plan;
    unsigned char* staging;
    float* seams;  // where taps are columns
};

/// Where a warpgroup stands.
struct Turns {
    Turn<input_stages> input;
    Turn<step_stages> step;
};

/// Where weights come from.
template <bool Raw>
struct WeightsOf {
    using type = const unsigned char*;
};
template <>
struct WeightsOf<true> {
    using type = TensorMap;
};
using Weights = WeightsOf<raw_weights>::type;

/// A box for this block; or for all blocks of the cluster, which take turns by the box's number.
template <bool Shared, int N>
__device__ __forceinline__ void load_box(u32 number, unsigned char* shared, const TensorMap& map, Barrier& full,
                                         const int (&corner)[N]) {
    if constexpr (!Shared) {
        tma_load_box(shared, map, full, corner);
    } else if ((number + blockIdx.x) % cluster_blocks == 0) {
        tma_load_box_to(k_all_blocks, shared, map, full, corner);
    }
}

/// The lines of which the tile has places and the next ones, each with the planes that taps along the depth read.
__device__ __forceinline__ void load_lines(const Tile& tile, int channel, int j_d, u32 turn, unsigned char* stage,
                                           const TensorMap& input, Barrier& full) {
    const int first_d = tile.q_d - tile.taps_d.offset - j_d * AxisD::offset_step;
    const int first_h = tile.q_h - tile.taps_h.offset - AxisH::halo;
    const int w = tile.q_w - tile.taps_w.offset - AxisW::halo;
    int entry = tile.first_place() / pitch_w;
    int h = split_off(entry, plane_lines);
    int d = split_off(entry, entry_planes);
#pragma unroll 1
    for (int line = 0; line < pitch_h; ++line) {
#pragma unroll
        for (int plane = 0; plane < pitch_d; ++plane)
            load_box<share_input>(turn + line * pitch_d + plane,
                                  stage + (plane * pitch_h + line) * (pitch_w * k_operand_row), input, full,
                                  {channel, w, first_h + h, first_d + d + plane, entry});
        if (++h < plane_lines) continue;
        h = 0;
        if (++d < entry_planes) continue;
        d = 0;
        ++entry;
    }
}

__device__ __forceinline__ void load_input(const Tile& tile, int block, int j_d, int j_h, int j_w, u32 turn,
                                           unsigned char* stage, const TensorMap& input, Barrier& full) {
    const int channel = (tile.group * channel_blocks + block) * map_row;
    if constexpr (line_runs) {
        load_lines(tile, channel, j_d, turn, stage, input, full);
    } else if constexpr (flat) {
#pragma unroll
        for (int i = 0; i < box_n; ++i) {
            const int run = tile.batch + i;
            if constexpr (raw_input) {
                load_box<share_input>(
                    turn + i, stage + i * run_bytes, input, full,
                    {run % entry_runs * run_positions, block * block_channels, tile.group, run / entry_runs});
            } else {
                load_box<share_input>(turn + i, stage + i * run_bytes, input, full,
                                      {channel, run * run_positions, 0, 0, 0});
            }
        }
    } else {
        const int d = tile.q_d - tile.taps_d.offset - j_d * AxisD::offset_step;
        const int h = tile.q_h - tile.taps_h.offset - j_h * AxisH::offset_step;
        const int w = tile.q_w - tile.taps_w.offset - j_w * AxisW::offset_step;
        if constexpr (raw_boxes) {
            const int first_channel = tile.group * in_group + block * block_channels;
            tma_load_box(stage, input, full, {w & -raw_aligned, h, d, first_channel, tile.batch});
        } else {
            load_box<share_input>(turn, stage, input, full, {channel, w, h, d, tile.batch});
        }
    }
}

/// A step along K of a tile: a block of channels, and a tap along each axis.
struct Step {
    int block, d, h, w;
};
/// Bytes of its weights: those of its parts; raw ones of one part are whole boxes.
__device__ __forceinline__ int weight_bytes_of(const Step& step) {
    if (raw_weights && parts == 1) return weight_stage;
    return step_parts(step.d, step.h, step.w).count() * part_bytes;
}
/// Those of all steps of a block of channels.
__device__ __forceinline__ int block_weight_bytes(const Tile& tile) {
    return parts_before(steps_d(tile.taps_d), 0, 0, tile.taps_h.count, steps_w(tile.taps_w)) * part_bytes;
}

/// The weights of a step, `from` bytes behind the tile's first ones where they are packed. Where weights are shared
/// each block loads some for all.
__device__ __forceinline__ void load_weights(const Tile& tile, const Step& step, int, u32 turn, unsigned char* stage,
                                             const TensorMap& weights, Barrier& full) {
    const int tap = tap_of(tile, step.d, step.h, step.w);
    const int row = step.block * block_channels;
    if constexpr (parts == 1) {
#pragma unroll
        for (int i = 0; i < weight_boxes; ++i) {
            const WeightBox box = weight_box_at(tile.column + i * k_operand_values, tap);
            load_box<share_weights>(turn + i, stage + i * weight_box, weights, full,
                                    {box.column, box.unit, row, tile.group});
        }
    } else {
        constexpr int part_boxes = part_n / k_operand_values;
        const StepParts active = step_parts(step.d, step.h, step.w);
        int box = 0;
#pragma unroll 1
        for (int part = 0; part < parts; ++part) {
            if (!active.has(part)) continue;
            const PartPlace at = part_at(part);
            const int own_tap = tap + (at.d * AxisH::kernel + at.h) * AxisW::kernel + AxisW::first_tap(at.w);
#pragma unroll
            for (int i = 0; i < part_boxes; ++i, ++box)
                load_box<share_weights>(
                    turn + box, stage + box * weight_box, weights, full,
                    {tile.column / tile_n * part_n + i * k_operand_values, own_tap, row, tile.group});
        }
    }
}
__device__ __forceinline__ void load_weights(const Tile& tile, const Step& step, int from, u32, unsigned char* stage,
                                             const unsigned char* packed, Barrier& full) {
    packed += packed_weights(tile.phase_class, tile.group, tile.column / tile_n) + from;
    const int bytes = weight_bytes_of(step);
    if constexpr (share_weights) {
        const int share = bytes / cluster_blocks;
        const int past = static_cast<int>(blockIdx.x % cluster_blocks) * share;
        tma_load_bytes_to(k_all_blocks, stage + past, packed + past, share, full);
    } else {
        tma_load_bytes(stage, packed, bytes, full);
    }
}

__device__ __forceinline__ void prefetch_weights(const TensorMap& weights) {
    tma_prefetch_map(weights);
}
__device__ __forceinline__ void prefetch_weights(const unsigned char*) {}

/// A box that several taps read; `j_d` is the last of them along the depth.
__device__ __forceinline__ void load_shared_box(const Tile& tile, int block, int j_d, Turns& turns,
                                                const Pipeline& pipeline, const TensorMap& input) {
    Barrier& full = pipeline.input.full[turns.input.stage];
    barrier_wait(pipeline.input.empty[turns.input.stage], turns.input.parity ^ 1);
    barrier_arrive_and_expect(full, box_bytes);
    load_input(tile, block, j_d, AxisH::max_taps - 1, AxisW::max_taps - 1, turns.input.number(),
               pipeline.inputs + turns.input.stage * input_stage, input, full);
    turns.input.advance();
}

__device__ __forceinline__ void load_tile(const Tile& tile, int plane, Turns& turns, const Pipeline& pipeline,
                                          const TensorMap& input, const Weights& weights) {
    int from = tile.first_block * block_weight_bytes(tile);
    for (int block = tile.first_block; block < tile.end_block; ++block) {
        if constexpr (reuse) {
            if (tile.taps() == 0) return;
        }
        if constexpr (reuse && !raw_boxes && !plane_boxes)
            load_shared_box(tile, block, AxisD::max_taps - 1, turns, pipeline, input);
        if constexpr (!steps_wait && !plane_boxes) continue;
        for (int j_d = 0; j_d < steps_d(tile.taps_d); ++j_d) {
            if constexpr (plane_boxes && !raw_boxes)
                load_shared_box(tile, block, walk ? plane_taps - 1 - plane : j_d, turns, pipeline, input);
            if constexpr (!steps_wait) continue;
            for (int j_h = 0; j_h < tile.taps_h.count; ++j_h) {
                for (int j_w = 0; j_w < steps_w(tile.taps_w); ++j_w) {
                    const int stage = turns.step.stage;
                    Barrier& full = pipeline.step.full[stage];
                    barrier_wait(pipeline.step.empty[stage], turns.step.parity ^ 1);
                    const Step step{block, j_d, j_h, j_w};
                    const int weight_bytes = resident ? 0 : weight_bytes_of(step);
                    barrier_arrive_and_expect(full, weight_bytes + (reuse ? 0 : box_bytes));
                    if constexpr (!reuse)
                        load_input(tile, block, j_d, j_h, j_w, turns.step.number(),
                                   pipeline.inputs + stage * input_stage, input, full);
                    if constexpr (!resident)
                        load_weights(tile, step, from, turns.step.number(), pipeline.weights + stage_place(stage),
                                     weights, full);
                    from += weight_bytes;
                    turns.step.advance();
                }
            }
        }
    }
}

/// All weights of a block's tiles, which have the same columns.
__device__ __forceinline__ void load_resident(const Tile& tile, const Pipeline& pipeline, const Weights& weights) {
    int from = 0;
    for (int number = 0; number < weight_stages; ++number) {
        Barrier& full = pipeline.resident[number / barrier_steps];
        Step step{number, 0, 0, 0};
        step.w = split_off(step.block, steps_w(tile.taps_w));
        step.h = split_off(step.block, tile.taps_h.count);
        step.d = split_off(step.block, steps_d(tile.taps_d));
        const int bytes = weight_bytes_of(step);
        barrier_arrive_and_expect(full, bytes);
        load_weights(tile, step, from, 0, pipeline.weights + from, weights, full);
        from += bytes;
    }
}

__device__ __forceinline__ Pipeline make_pipeline() {
    unsigned char* shared = dynamic_shared<unsigned char>();
    // The swizzle follows the address.
    const u64 past = reinterpret_cast<u64>(shared) % 1024;
    unsigned char* inputs = shared + (past == 0 ? 0 : 1024 - past);
    unsigned char* weights = inputs + input_stages * input_stage;
    unsigned char* raw_slices = weights + weight_room;
    unsigned char* staging = raw_slices + (block_pack ? raw_stages * raw_stage : 0);
    unsigned char* seams = staging + consumers * staging_bytes;
    Barrier* barriers = reinterpret_cast<Barrier*>(seams + consumers * seam_bytes);
    Barrier* input_barriers = barriers + 2 * step_stages;
    Barrier* raw_barriers = input_barriers + 2 * input_stages;
    Barrier* resident_barriers = raw_barriers + (block_pack ? 2 * raw_stages : 0);
    Barrier* ahead = resident_barriers + (resident ? (weight_stages + barrier_steps - 1) / barrier_steps : 0);
    Barrier* planned = ahead + consumers;
    return {{input_barriers, input_barriers + input_stages},
            {raw_barriers, raw_barriers + raw_stages},
            {barriers, barriers + step_stages},
            inputs,
            weights,
            resident_barriers,
            raw_slices,
            ahead,
            planned,
            reinterpret_cast<Plan*>(planned + 1),
            staging,
            reinterpret_cast<float*>(seams)};
}

/// By all threads, before the first copies; these never write there.
__device__ __forceinline__ void clear_behind_boxes(const Pipeline& pipeline) {
    if constexpr (zero_rows == 0) return;
    constexpr int vectors = (zero_rows == 0 ? 1 : zero_rows) * k_operand_row / 16;
    for (int i = threadIdx.x; i < input_stages * vectors; i += threads) {
        unsigned char* behind = pipeline.inputs + i / vectors * input_stage + input_rows * k_operand_row;
        store<4>(reinterpret_cast<float*>(behind) + i % vectors * 4, Floats<4>{});
    }
    fence_async_proxy();
}

// What the space leaves for barriers and plan.
static_assert(8 * (2 * step_stages + 2 * input_stages + (resident ? 32 : 0) + (block_pack ? 2 * raw_stages : 0) +
                   consumers + 1) +
                      (planned_tiles ? sizeof(Plan) : 0) <=
                  576,
              "barriers and plan have room");

/// Stages that `fillers` threads fill.
template <bool Shared>
__device__ __forceinline__ void init_barriers(const Ring& ring, int stages, int fillers = 1) {
    for (int stage = 0; stage < stages; ++stage) {
        barrier_init(ring.full[stage], fillers);
        barrier_init(ring.empty[stage], consumers * (k_warpgroup / 32) * (Shared ? cluster_blocks : 1));
    }
}

__device__ __forceinline__ void init_raw(const Ring& ring) {
    for (int stage = 0; stage < raw_stages; ++stage) {
        barrier_init(ring.full[stage], 1);
        barrier_init(ring.empty[stage], k_packing_warps);
    }
}

__device__ __forceinline__ void init_resident(Barrier* barriers) {
    for (int first = 0; first < weight_stages; first += barrier_steps)
        barrier_init(barriers[first / barrier_steps], min(barrier_steps, weight_stages - first));
}

/// Waits for all threads that use this block's barriers.
__device__ __forceinline__ void sync_all() {
    if constexpr (cluster_blocks > 1) {
        cluster_sync();
    } else {
        __syncthreads();
    }
}

template <bool Shared>
__device__ __forceinline__ void release(const Ring& ring, int stage) {
    const u32 lane = threadIdx.x % 32;
    if constexpr (Shared) {
        if (lane < cluster_blocks) barrier_arrive_in_cluster(ring.empty[stage], lane);
    } else {
        if (lane == 0) barrier_arrive(ring.empty[stage]);
    }
}

__device__ __forceinline__ void load_tiles(const Pipeline& pipeline, const TensorMap& input, const Weights& weights,
                                           int batch) {
    Turns turns;
    Tile tile{};
    if (resident && find_tile(tile, blockIdx.x, batch)) load_resident(tile, pipeline, weights);
    for (int wave = 0; find_tile(tile, tile_in_wave(wave, pipeline.plan, pipeline.planned), batch); ++wave) {
        const Walked walked = walked_planes(tile);
        for (int plane = walked.begin; plane < walked.end; ++plane)
            load_tile(tile, plane, turns, pipeline, input, weights);
    }
}

/// Raw boxes of all tiles, by a thread of its own: they wait for no weights.
__device__ __forceinline__ void load_raw_boxes(const Pipeline& pipeline, const TensorMap& input, int batch) {
    Turns turns;
    Tile tile{};
    for (int wave = 0; find_tile(tile, tile_in_wave(wave, pipeline.plan, pipeline.planned), batch); ++wave) {
        if (tile.taps() == 0) continue;
        const Walked walked = walked_planes(tile);
#pragma unroll 1
        for (int plane = walked.begin; plane < walked.end; ++plane) {
            const int first_tap = walk ? plane_taps - 1 - plane : plane_boxes ? 0 : plane_taps - 1;
#pragma unroll 1
            for (int block = tile.first_block; block < tile.end_block; ++block) {
#pragma unroll 1
                for (int i = 0; i < boxes_of(tile.taps_d); ++i)
                    load_shared_box(tile, block, first_tap + i, turns, pipeline, input);
            }
        }
    }
}

}  // namespace tconv::hopper
