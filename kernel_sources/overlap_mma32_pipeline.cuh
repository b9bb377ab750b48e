// The stages of shared memory of the overlap_mma32 family. One warpgroup brings the input, which arrives channel by
// channel in a ring of its own, into the order of an operand, and one of its threads starts copies; the others
// multiply.
#pragma once

#include "overlap_mma_copies.cuh"
#include "overlap_mma_gather.cuh"

namespace tconv::overlap_mma {

/// 1: TF32; 3: pairs of bfloat16, of which three products are made.
constexpr int math = config::math;
constexpr bool split = math == 3;
static_assert(chunk_channels == k_operand_row / 4, "a chunk of channels is a row of the operand");

/// Columns of a tile, (output channel, tap), are rows of the product, and positions are its columns.
constexpr int tile_columns = consumers * rows * k_product_rows;
static_assert(tile_channels * taps <= tile_columns, "rows of whole channels");
constexpr int tile_positions = team_windows * window_rows;
static_assert(teams == 1 && window_runs == 1 && tile_positions <= product_n, "a window is one copy");

constexpr int weight_boxes = tile_columns / box_columns;
constexpr int weight_bytes = weight_boxes * weight_box;
constexpr int packed_bytes = product_n * k_operand_row;
constexpr int stage_bytes = weight_bytes + packed_bytes;
constexpr int raw_stages = config::raw_stages;
constexpr int packers = 3;

/// The barriers of a ring.
struct Ring {
    Barrier* full;   // number i: what stage i holds is there
    Barrier* empty;  // everyone is done with it
};

struct Pipeline {
    unsigned char* operands;  // of each stage the weights, then the input
    unsigned char* raw;
    Gather gather;
    Ring stages;  // emptied by every warp that multiplies, in all blocks of the cluster
    Ring arrived;
};

__device__ __forceinline__ Pipeline make_pipeline() {
    unsigned char* operands = aligned_shared();
    unsigned char* raw = operands + stages * stage_bytes;
    float* shares = reinterpret_cast<float*>(raw + raw_stages * copied_bytes);
    float* biases = shares + share_floats;
    Barrier* barriers = reinterpret_cast<Barrier*>(biases + bias_floats);
    Barrier* raw_barriers = barriers + 2 * stages;
    return {operands,
            raw,
            {shares, biases, raw_barriers + 2 * raw_stages},
            {barriers, barriers + stages},
            {raw_barriers, raw_barriers + raw_stages}};
}
// What the space leaves for barriers.
static_assert((2 * stages + 2 * raw_stages + 1) * sizeof(Barrier) <= 256, "barriers have room");

__device__ __forceinline__ void init_barriers(const Pipeline& pipeline) {
    constexpr int warps = consumers * k_warpgroup / 32;
    for (int stage = 0; stage < stages; ++stage) {
        // The packing warps' arrivals and the one that expects the weights.
        barrier_init(pipeline.stages.full[stage], packers + 1);
        barrier_init(pipeline.stages.empty[stage], cluster_blocks * warps);
    }
    for (int stage = 0; stage < raw_stages; ++stage) {
        barrier_init(pipeline.arrived.full[stage], 1);
        barrier_init(pipeline.arrived.empty[stage], packers);
    }
    barrier_init(*pipeline.gather.met, warps);
}

/// The input's copies, chunk after chunk of tile after tile.
struct InputFeed {
    tconv::Turn<raw_stages> turn;
    Tile tile{};
    int number = first_number();
    int chunk = 0;
    bool more;

    __device__ __forceinline__ explicit InputFeed(int windows) : more(find_tile(tile, number, windows)) {}
    __device__ __forceinline__ void load(const Pipeline& pipeline, const TensorMap& input, int windows) {
        if (!more) return;
        Barrier& full = pipeline.arrived.full[turn.stage];
        barrier_wait(pipeline.arrived.empty[turn.stage], turn.parity ^ 1);
        barrier_arrive_and_expect(full, copied_bytes);
        load_input<0>(tile, chunk * chunk_channels, pipeline.raw + turn.stage * copied_bytes, input, full);
        turn.advance();
        if (++chunk < chunks) return;
        chunk = 0;
        number += number_step();
        more = find_tile(tile, number, windows);
    }
};

/// By one thread: the packing warps, for which the others wait, have no time for copies.
__device__ __forceinline__ void load_tiles(const Pipeline& pipeline, const TensorMap& input, const TensorMap& weights,
                                           int windows) {
    Turn turn;
    Tile tile{};
    InputFeed feed(windows);
    // One stage is left for the chunk that has been packed, mostly, when the weights beside the next are on their way.
    for (int i = 0; i < raw_stages - 1; ++i)
        feed.load(pipeline, input, windows);
    for (int number = first_number(); find_tile(tile, number, windows); number += number_step()) {
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; ++chunk) {
            Barrier& full = pipeline.stages.full[turn.stage];
            barrier_wait(pipeline.stages.empty[turn.stage], turn.parity ^ 1);
            barrier_arrive_and_expect(full, weight_bytes);
            load_weights<weight_boxes>(tile, chunk * chunk_channels, pipeline.operands + turn.stage * stage_bytes,
                                       weights, full);
            feed.load(pipeline, input, windows);
            turn.advance();
        }
    }
}

}  // namespace tconv::overlap_mma
