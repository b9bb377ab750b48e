// The input of few outputs by way of shared memory (compute capability 9.0), channels first: the hardware copies a
// box of the block's windows, some channels at a time, and threads read their rows from it. Zeros outside the tensor
// come with the box, so nothing asks where a row lies, and a wait for memory is one of the whole block, long before.
#pragma once

#include "few_outputs_sums.cuh"
#include "tma.cuh"

namespace tconv::few_outputs {

constexpr bool boxes = config::box_width > 0;
constexpr int stages = config::box_stages;
constexpr int box_channels = config::box_channels;
constexpr int box_chunks = in_group / box_channels;
/// Chunks between the use of a stage and its next copy, so that the warp that starts copies seldom waits for others.
constexpr int patience = stages > 2 ? 1 : 0;

// A box: [channel][depth][height][pitch], from the first input of the tile's first thread along depth and height, and
// along the width from the unit of 16 bytes that it lies in, as the hardware asks.
constexpr int box_d = tile_d * AxisD::positions + AxisD::window - AxisD::positions;
constexpr int box_h = tile_h * AxisH::positions + AxisH::window - AxisH::positions;
constexpr int box_pitch = config::box_pitch;
constexpr int box_first = config::box_first;  // of a thread's first position, along the width
constexpr int box_channel = box_d * box_h * box_pitch;

struct Ring {
    Barrier* full;
    Barrier* empty;

    __device__ __forceinline__ static Element* box(int stage) {
        auto* bytes = dynamic_shared<unsigned char>() + config::boxes_begin + stage * config::stage_bytes;
        return reinterpret_cast<Element*>(bytes);
    }
};

/// Before a __syncthreads.
__device__ __forceinline__ Ring make_ring() {
    auto* barriers = reinterpret_cast<Barrier*>(dynamic_shared<unsigned char>() + config::barrier_begin);
    const Ring ring{barriers, barriers + stages};
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < stages; ++stage) {
            barrier_init(ring.full[stage], 1);
            barrier_init(ring.empty[stage], threads / 32);
        }
        barrier_init_fence();
    }
    return ring;
}

/// Where the box of a tile's first channel begins in the tensor.
struct Corner {
    int w, h, d, channel, batch;
};
__device__ __forceinline__ Corner corner_of(const Place& tile, u32 batch) {
    return {static_cast<int>(tile.w) * AxisW::positions - box_first,
            static_cast<int>(tile.h) * AxisH::positions + AxisH::first,
            static_cast<int>(tile.d) * AxisD::positions + AxisD::first, static_cast<int>(group_of(tile)) * in_group,
            static_cast<int>(batch)};
}

/// One thread.
__device__ __forceinline__ void copy_box(const TensorMap& map, const Ring& ring, int stage, const Corner& corner,
                                         int chunk) {
    constexpr u32 bytes = box_channels * box_channel * static_cast<u32>(problem::element_bytes);
    barrier_arrive_and_expect(ring.full[stage], bytes);
    tma_load_box(Ring::box(stage), map, ring.full[stage],
                 {corner.w, corner.h, corner.d, corner.channel + chunk * box_channels, corner.batch});
}

/// A row of a thread's window in shared memory, `first` at the thread's first position.
struct BoxRow {
    Pieces<0> pieces;

    __device__ __forceinline__ void read(const Element* first) { pieces.read(first); }
    __device__ __forceinline__ float at(int, int number) const { return pieces.at(number); }
};

/// Elements from a thread's first one to row `i` of its window.
constexpr int row_offset(int i) {
    return (i / AxisH::window * box_h + i % AxisH::window) * box_pitch;
}

/// A channel whose window begins in shared memory at the row of `first`, the rows of a depth together.
__device__ __forceinline__ void add_depths(Sums& sums, const Element* first, const float* weights) {
#pragma unroll
    for (int id = 0; id < AxisD::window; ++id) {
        BoxRow row[AxisH::window];
#pragma unroll
        for (int ih = 0; ih < AxisH::window; ++ih)
            row[ih].read(first + row_offset(id * AxisH::window + ih));
        add_rows(sums, row, weights, id * AxisH::window);
    }
}

/// Where in a box the first row of a thread's window has the thread's first position. Threads past the tile have places
/// in it, too.
__device__ __forceinline__ int window_offset(const Place& thread, const Place& tile) {
    const int row = static_cast<int>(thread.d - tile.d) * AxisD::positions * box_h +
                    static_cast<int>(thread.h - tile.h) * AxisH::positions;
    return row * box_pitch + box_first + static_cast<int>(thread.w - tile.w) * AxisW::positions;
}

/// Starts the next copy, to the stage that was used `patience` chunks before the last one. The first warp.
__device__ __forceinline__ void refill(const TensorMap& map, const Ring& ring, const Corner& corner, int chunk,
                                       Turn<stages>& freed) {
    const int next = chunk - 1 - patience + stages;
    if (chunk <= patience || next >= box_chunks) return;
    barrier_wait_together(ring.empty[freed.stage], freed.parity);
    if (threadIdx.x == 0) copy_box(map, ring, freed.stage, corner, next);
    freed.advance();
}

/// All channels of the block's tile. All threads; the copies of the first `stages` chunks have been started. `offset`
/// is the thread's window_offset.
__device__ __forceinline__ void add_boxes(Sums& sums, const TensorMap& map, const Ring& ring, const Corner& corner,
                                          int offset, const float* weights) {
    Turn<stages> turn;
    Turn<stages> freed;
#pragma unroll 1
    for (int chunk = 0; chunk < box_chunks; ++chunk) {
        if (threadIdx.x < 32) refill(map, ring, corner, chunk, freed);
        barrier_wait(ring.full[turn.stage], turn.parity);
        const Element* box = Ring::box(turn.stage) + offset;
#pragma unroll 1
        for (int channel = 0; channel < box_channels; ++channel) {
            add_depths(sums, box, weights);
            box += box_channel;
            weights += channel_pitch;
        }
        barrier_arrive_after_reads(ring.empty[turn.stage]);
        turn.advance();
    }
}

}  // namespace tconv::few_outputs
