// Blocks whose input the hardware copies in boxes (compute capability 9.0): one lane starts the copies of a chunk, full
// and empty stages are told by barriers, and no warp waits for another in the main loop. Zeros outside the tensor come
// with the boxes.
#pragma once

#include "product_block.cuh"
#include "tma.cuh"

namespace tconv::product {

/// Stages that are filled and used in turn.
struct Ring {
    Barrier* full;
    Barrier* empty;
    Barrier* weights;  // those that stay

    __device__ __forceinline__ u32* stage(int number) const { return dynamic_shared<u32>() + number * stage_words; }
};

__device__ __forceinline__ Ring make_ring() {
    auto* barriers = reinterpret_cast<Barrier*>(dynamic_shared<unsigned char>() + config::barrier_begin);
    const Ring ring{barriers, barriers + config::stages, barriers + 2 * config::stages};
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < config::stages; ++stage) {
            barrier_init(ring.full[stage], 1);
            barrier_init(ring.empty[stage], threads / 32);
        }
        barrier_init(*ring.weights, 1);
        barrier_init_fence();
    }
    __syncthreads();
    return ring;
}

using Turn = tconv::Turn<config::stages>;

/// The next chunk to be copied, as little of it as copies need.
struct Feed {
    i64 tile;
    int chunk;
    int chunks;
    int corner_w, corner_h, corner_d, batch, channel;
    const u32* weights;
    int weight_bytes;
};

__device__ __forceinline__ void enter_tile(Feed& feed, i64 tile, const Call& call) {
    feed.tile = tile;
    feed.chunk = 0;
    feed.chunks = 0;
    while (feed.tile < tiles_of(call.batch)) {
        const Place place = place_of_tile(feed.tile, call.batch);
        if (place.run_d.count > 0 && place.run_h.count > 0 && place.run_w.count > 0) {
            feed.chunks = chunks;
            feed.corner_w = static_cast<int>(place.q_w) - AxisW::halo - lead_of(place);
            feed.corner_h = static_cast<int>(place.q_h) - AxisH::halo;
            feed.corner_d = static_cast<int>(place.q_d) - AxisD::halo;
            feed.batch = place.batch;
            feed.channel = place.group * group_lines;
            feed.weights = call.weights + packed_offset(place.group, place.channel_block, place.phase_d, place.phase_h,
                                                        place.phase_w, 0);
            feed.weight_bytes = 4 * weight_count(place);
            return;
        }
        feed.tile += gridDim.x;
    }
}

/// Starts the copies of the next chunk, if there is one, or those of its input or its weights alone, input first.
template <bool Input = true, bool Weights = true>
__device__ __forceinline__ void fill(Feed& feed, const Ring& ring, int number, const TensorMap& map, const Call& call) {
    constexpr u32 input_bytes =
        4 * (channels_last ? tile_n * rows_d * rows_h * row_pitch : chunk_words) * config::word_pitch;
    if (feed.chunk == feed.chunks) return;
    if (threadIdx.x % 32 == 0) {
        u32* stage = ring.stage(number);
        Barrier& full = ring.full[number];
        const int channel = feed.channel + feed.chunk * (config::channel_chunk / line_channels);
        if constexpr (Input) {
            barrier_arrive_and_expect(full, input_bytes + (resident_weights ? 0 : feed.weight_bytes));
            if constexpr (channels_last) {
                tma_load_box(stage, map, full, {channel, feed.corner_w, feed.corner_h, feed.corner_d, feed.batch});
            } else {
                tma_load_box(stage, map, full, {feed.corner_w, feed.corner_h, feed.corner_d, channel, feed.batch});
            }
        }
        if constexpr (Weights && !resident_weights)
            tma_load_bytes(stage + input_stage, feed.weights, feed.weight_bytes, full);
    }
    feed.weights += weight_stage;
    if (++feed.chunk == feed.chunks) enter_tile(feed, feed.tile + gridDim.x, call);
}

/// What a warp has to do with the stage that it used last, beside its products.
struct Feeder {
    Feed feed;  // of the first warp
    Turn used;
    bool holds = false;  // the warp's products may still read it
    bool owes = false;   // it is still to be filled, by the first warp

    __device__ __forceinline__ void start(const Ring& ring, const TensorMap& map, const Call& call) {
        tma_prefetch_map(map);
        enter_tile(feed, blockIdx.x, call);
        // The input does not depend on the launch that packs the weights, unless that is packed too.
        if constexpr (packs_input) wait_for_launch_before();
        Feed weights = feed;
        for (int stage = 0; stage < config::stages; ++stage)
            fill<true, false>(feed, ring, stage, map, call);
        wait_for_launch_before();
        if (resident_weights && threadIdx.x == 0) {
            constexpr u32 bytes = 4 * chunks * weight_stage;
            barrier_arrive_and_expect(*ring.weights, bytes);
            tma_load_bytes(ring.stage(config::stages), call.weights, bytes, *ring.weights);
        }
        if constexpr (!resident_weights) {
            for (int stage = 0; stage < config::stages; ++stage)
                fill<false, true>(weights, ring, stage, map, call);
        }
    }
    __device__ __forceinline__ void use(const Turn& turn) {
        used = turn;
        holds = true;
        owes = threadIdx.x / 32 == 0;
    }
    __device__ __forceinline__ void give_back(const Ring& ring) {
        if (!holds) return;
        holds = false;
        barrier_arrive_after_reads(ring.empty[used.stage]);
    }
    /// Once every warp is done with the stage; PATIENT: waits until they are.
    template <bool Patient>
    __device__ __forceinline__ void refill(const Ring& ring, const TensorMap& map, const Call& call) {
        if (!owes) return;
        if constexpr (Patient) {
            barrier_wait_together(ring.empty[used.stage], used.parity);
        } else if (!barrier_test_together(ring.empty[used.stage], used.parity)) {
            return;
        }
        owes = false;
        fill(feed, ring, used.stage, map, call);
    }
};

__device__ __forceinline__ void run_block(const Call& call, const TensorMap& map) {
    const int warp = threadIdx.x / 32;
    const int warp_m = warp % warps_m;
    const int warp_n = warps_n == 1 ? 0 : warp / warps_m;
    const Ring ring = make_ring();
    Feeder feeder;
    if (warp == 0) feeder.start(ring, map, call);
    if constexpr (resident_weights) barrier_wait_together(*ring.weights, 0);
    // Products that run behind others free their stage in the midst of those of the next one.
    const auto between = [&] {
        feeder.give_back(ring);
        feeder.refill<false>(ring, map, call);
    };
    Turn turn;
    Cursor at;
    enter_tile(at, blockIdx.x, call.batch);
    while (at.tile < tiles_of(call.batch)) {
        Sums sums = {};
        Rows rows = rows_of_lane(warp_m, at.lead);
#pragma unroll 1
        for (int chunk = 0; chunk < at.chunks; ++chunk) {
            if constexpr (!warpgroups) feeder.refill<true>(ring, map, call);
            barrier_wait_together(ring.full[turn.stage], turn.parity);
            const u32* stage = ring.stage(turn.stage);
            multiply_chunk(sums, stage, weights_of(stage, chunk), rows, at.place, warp_n, between);
            if constexpr (warpgroups) feeder.refill<true>(ring, map, call);  // the stage before
            feeder.use(turn);
            if constexpr (!warpgroups) feeder.give_back(ring);
            turn.advance();
        }
        finish_products(sums);
        feeder.give_back(ring);
        feeder.refill<true>(ring, map, call);
        store_tile(sums, call, at.place, warp_m, warp_n);
        enter_tile(at, at.tile + gridDim.x, call.batch);
    }
}

}  // namespace tconv::product
