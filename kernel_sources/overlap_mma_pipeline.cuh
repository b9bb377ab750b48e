// The stages of shared memory between the thread that starts copies and the warpgroups that multiply.
#pragma once

#include "overlap_mma_copies.cuh"
#include "overlap_mma_gather.cuh"

namespace tconv::overlap_mma {

constexpr int team_rows = team_warpgroups * rows * k_product_rows;
static_assert(team_windows * window_rows <= team_rows, "a team's windows are rows of its product");
static_assert(tile_channels * taps <= product_n, "columns of whole channels");

constexpr int team_bytes = team_rows / run * run_bytes;
constexpr int input_bytes = teams * team_bytes;
constexpr int weight_boxes = (product_n + box_columns - 1) / box_columns;
constexpr int stage_bytes = input_bytes + weight_boxes * weight_box;

struct Pipeline {
    unsigned char* operands;
    Gather gather;
    Barrier* full;   // number i: the operands of stage i have arrived
    Barrier* empty;  // every warp that multiplies is done with them, in all blocks of the cluster
};

__device__ __forceinline__ Pipeline make_pipeline() {
    unsigned char* operands = aligned_shared();
    float* shares = reinterpret_cast<float*>(operands + stages * stage_bytes);
    float* biases = shares + teams * share_floats;
    Barrier* barriers = reinterpret_cast<Barrier*>(biases + bias_floats);
    return {operands, {shares, biases, barriers + 2 * stages}, barriers, barriers + stages};
}
// What the space leaves for barriers.
static_assert((2 * stages + 1) * sizeof(Barrier) <= 256, "barriers have room");

__device__ __forceinline__ void init_barriers(const Pipeline& pipeline) {
    constexpr int warps = consumers * k_warpgroup / 32;
    for (int stage = 0; stage < stages; ++stage) {
        barrier_init(pipeline.full[stage], 1);
        barrier_init(pipeline.empty[stage], cluster_blocks * warps);
    }
    barrier_init(*pipeline.gather.met, warps);
}

__device__ __forceinline__ void load_tiles(const Pipeline& pipeline, const TensorMap& input, const TensorMap& weights,
                                           int windows) {
    Turn turn;
    Tile tile{};
    for (int number = first_number(); find_tile(tile, number, windows); number += number_step()) {
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; ++chunk) {
            Barrier& full = pipeline.full[turn.stage];
            unsigned char* stage = pipeline.operands + turn.stage * stage_bytes;
            barrier_wait(pipeline.empty[turn.stage], turn.parity ^ 1);
            barrier_arrive_and_expect(full, copied_bytes + weight_boxes * weight_box);
            load_input<team_bytes>(tile, chunk * chunk_channels, stage, input, full);
            load_weights<weight_boxes>(tile, chunk * chunk_channels, stage + input_bytes, weights, full);
            turn.advance();
        }
    }
}

}  // namespace tconv::overlap_mma
