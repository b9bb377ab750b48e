// An implicit matrix product: rows are positions q of the output's coarse grid (o + padding = q * stride + phase),
// columns are phases x output channels, K is offsets x input channels. A block loads its positions' inputs with their
// halo once a chunk of channels and every tap reads them shifted; phases joined in a block share those reads.
//
// What a chunk's products are computed with is included before: Rows, rows_of_lane, show_weights, multiply_chunk and
// finish_products; and store_direct.
#pragma once

#include "product_direct.cuh"
#include "product_load.cuh"
#include "product_split.cuh"

namespace tconv::product {

constexpr bool persistent = config::persistent != 0;

/// A chunk of a tile: blocks take one after the other, tile after tile, and load some ahead of the one they compute.
struct Cursor {
    i64 tile;
    int chunk;
    Place place;
    int lead;
    int chunks;  // end of the block's: none where its phase has no taps
};

__device__ __forceinline__ void enter_tile(Cursor& cursor, i64 tile, int batch) {
    cursor.tile = tile;
    cursor.chunk = 0;
    cursor.chunks = 0;
    if (persistent && tile >= tiles_of(batch)) return;
    cursor.place = place_of_tile(tile, batch);
    cursor.lead = lead_of(cursor.place);
    const bool tapped = cursor.place.run_d.count > 0 && cursor.place.run_h.count > 0 && cursor.place.run_w.count > 0;
    if (!tapped) return;
    const int split = splits > 1 ? static_cast<int>(blockIdx.x % splits) : 0;
    cursor.chunk = chunks * split / splits;
    cursor.chunks = chunks * (split + 1) / splits;
}

/// Enters the next tile that has chunks, or the end, where the one at hand has no more.
__device__ __forceinline__ void settle(Cursor& cursor, int batch) {
    while (cursor.chunk == cursor.chunks && persistent && cursor.tile < tiles_of(batch))
        enter_tile(cursor, cursor.tile + gridDim.x, batch);
}

__device__ __forceinline__ bool at_end(const Cursor& cursor) {
    return cursor.chunk == cursor.chunks;
}

/// Tensors of a call.
struct Call {
    const LineElement* input;
    const u32* weights;
    const Element* bias;
    Element* output;
    int batch;
    float* partials;  // where blocks share a tile
};

/// Starts loading the cursor's chunk into a stage and moves the cursor on.
__device__ __forceinline__ void load_next(Cursor& cursor, u32* stage, const Call& call) {
    if (!at_end(cursor)) {
        if constexpr (!gathers) copy_input(stage, call.input, cursor.place, call.batch, cursor.lead, cursor.chunk);
        if constexpr (!resident_weights) copy_weights(stage + input_stage, call.weights, cursor.place, cursor.chunk);
        ++cursor.chunk;
        settle(cursor, call.batch);
    }
    copy_async_commit();
}

/// The same for a gathered input: the chunk waits in registers.
__device__ __forceinline__ bool gather_next(Gathered& gathered, Cursor& cursor, const Call& call) {
    if constexpr (!gathers) return false;
    if (at_end(cursor)) return false;
    gather_input(gathered, call.input, cursor.place, call.batch, cursor.lead, cursor.chunk);
    ++cursor.chunk;
    settle(cursor, call.batch);
    return true;
}

/// The weights of a chunk.
__device__ __forceinline__ const u32* weights_of(const u32* stage, int chunk) {
    return resident_weights ? dynamic_shared<u32>() + config::stages * stage_words + chunk * weight_stage
                            : stage + input_stage;
}

__device__ __forceinline__ void store_tile(const Sums& sums, const Call& call, const Place& place, int warp_m,
                                           int warp_n) {
    const int first_channel = place.channel_block * block_channels + warp_n * n_fragments * fragment_columns;
    if constexpr (direct_store) {
        store_direct(sums, call.bias, call.output, place, call.batch, warp_m, first_channel);
        return;
    }
    const Staging staging = make_staging(place, call.output, call.batch, threadIdx.x / 32, warp_m);
    __syncwarp();
    const bool aligned = reinterpret_cast<u64>(call.output) % (store_vector * sizeof(Element)) == 0;
    if constexpr (packed) {
        store_packed(sums, staging, call.bias, call.output, place, aligned);
    } else if constexpr (stores_rows) {
        store_rows(sums, staging, call.bias, call.output, place, first_channel, aligned);
    } else {
        store_channels(sums, staging, call.bias, call.output, place, first_channel, aligned);
    }
    __syncwarp();
}

__device__ __forceinline__ void run_block(const Call& call) {
    constexpr int stages = config::stages;
    u32* shared = dynamic_shared<u32>();
    const int warp_m = threadIdx.x / 32 % warps_m;
    const int warp_n = warps_n == 1 ? 0 : threadIdx.x / 32 / warps_m;
    Cursor at;
    enter_tile(at, blockIdx.x / splits, call.batch);
    Cursor ahead = at;
    settle(ahead, call.batch);
    Cursor gathering = ahead;
    Gathered gathered;
    if (gather_next(gathered, gathering, call)) put_gathered(shared, gathered);
    if constexpr (resident_weights) {
        for (int chunk = 0; chunk < chunks; ++chunk)
            copy_weights(shared + stages * stage_words + chunk * weight_stage, call.weights, at.place, chunk);
    }
#pragma unroll
    for (int stage = 0; stage < stages - 1; ++stage)
        load_next(ahead, shared + stage * stage_words, call);
    int stage = 0;
    int free_stage = stages - 1;
    do {
        Sums sums = {};
        Rows rows = rows_of_lane(warp_m, at.lead);
#pragma unroll 1
        for (int chunk = at.chunk; chunk < at.chunks; ++chunk) {
            copy_async_wait<stages - 2>();
            show_weights();
            __syncthreads();
            load_next(ahead, shared + free_stage * stage_words, call);
            const bool more = gather_next(gathered, gathering, call);
            const u32* input = shared + stage * stage_words;
            multiply_chunk(sums, input, weights_of(input, chunk), rows, at.place, warp_n, [] {});
            const int next = stage + 1 == stages ? 0 : stage + 1;
            if (more) put_gathered(shared + next * stage_words, gathered);
            free_stage = stage;
            stage = next;
        }
        finish_products(sums);
        if constexpr (splits > 1) {
            put_partial(sums, call.partials, at.tile, static_cast<int>(blockIdx.x % splits));
            return;
        }
        if constexpr (!persistent && !direct_store) __syncthreads();
        store_tile(sums, call, at.place, warp_m, warp_n);
        if constexpr (persistent) enter_tile(at, at.tile + gridDim.x, call.batch);
    } while (persistent && at.tile < tiles_of(call.batch));
}

/// The second launch where blocks share a tile.
__device__ __forceinline__ void finish_block(const Call& call, const float* partials) {
    Sums sums = {};
    add_partials(sums, partials, blockIdx.x);
    store_tile(sums, call, place_of_tile(blockIdx.x, call.batch), threadIdx.x / 32 % warps_m,
               threadIdx.x / 32 / warps_m);
}

}  // namespace tconv::product
