// Transposed convolution in plain fp32 arithmetic as one matrix product without a halo: every position of the input
// meets every tap, with both tensors as they lie in memory. Where kernel = stride each product is an output; otherwise
// the products go to the workspace, and a second launch adds up those that meet in an output.
#include "overlap_add_load.cuh"
#include "overlap_add_shape.cuh"
#include "overlap_add_store.cuh"

namespace tconv::overlap_add {

/// What a lane multiplies at one channel.
struct Operands {
    float input[quads_m][k_quad];
    float weight[quads_n][k_quad];
};

__device__ __forceinline__ void load_operands(Operands& operands, const Chunk& from, int channel) {
#pragma unroll
    for (int quad = 0; quad < quads_m; ++quad) {
        const auto loaded = load<k_quad>(&from.input[channel][quad_row(quad)]);
#pragma unroll
        for (int i = 0; i < k_quad; ++i)
            operands.input[quad][i] = loaded.v[i];
    }
#pragma unroll
    for (int quad = 0; quad < quads_n; ++quad) {
        const auto loaded = load<k_quad>(&from.weight[channel][quad_column(quad)]);
#pragma unroll
        for (int j = 0; j < k_quad; ++j)
            operands.weight[quad][j] = loaded.v[j];
    }
}

__device__ __forceinline__ void multiply(Sums& sums, const Operands& operands) {
#pragma unroll
    for (int quad = 0; quad < quads_m; ++quad) {
#pragma unroll
        for (int i = 0; i < k_quad; ++i) {
#pragma unroll
            for (int quad_n = 0; quad_n < quads_n; ++quad_n) {
#pragma unroll
                for (int j = 0; j < k_quad; ++j)
                    sums[quad][i][quad_n][j] =
                        fmaf(operands.input[quad][i], operands.weight[quad_n][j], sums[quad][i][quad_n][j]);
            }
        }
    }
}

__device__ __forceinline__ void multiply_chunk(Sums& sums, const Chunk& from) {
    constexpr int unrolled = chunk < 8 ? chunk : 8;
    Operands operands[2];
    load_operands(operands[0], from, 0);
#pragma unroll 1
    for (int first = 0; first < chunk; first += unrolled) {
#pragma unroll
        for (int i = 0; i < unrolled; ++i) {
            // The operands of the next channel are on their way while these are multiplied.
            const int next = first + i + 1;
            load_operands(operands[(i + 1) % 2], from, next < chunk ? next : 0);
            multiply(sums, operands[i % 2]);
        }
    }
}

/// Starts to bring chunk `number` of a tile, and what has to pass through registers to these.
__device__ __forceinline__ void start_chunk(Chunk& target, Passing& passing, const InputPieces& pieces,
                                            const Element* input, const Element* weight, const Tile& tile, i64 rows,
                                            int number) {
    const int channel = number * chunk;
    if (number < tile.end_chunk) {
        if constexpr (input_copied) copy_input(target, input, pieces, channel);
        if constexpr (weights_copied) copy_weights(target, weight, tile, channel);
        passing.load(input, weight, tile, rows, channel);
    }
    copy_async_commit();
}

}  // namespace tconv::overlap_add

extern "C" __global__ void __launch_bounds__(tconv::overlap_add::threads, tconv::config::min_blocks)
    tconv_overlap_add(const tconv::Element* __restrict__ input, const tconv::Element* __restrict__ weight,
                      const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output,
                      float* __restrict__ shares, int batch) {
    using namespace tconv;
    using namespace tconv::overlap_add;
    Chunk* ring = dynamic_shared<Chunk>();
    const i64 rows = batch * positions;
    Tile tile{};
    InputPieces pieces;
    Passing passing;
    let_next_launch_start();
    const auto begin = [&] {
        if constexpr (input_copied) pieces.place_at(tile, rows);
#pragma unroll
        for (int stage = 0; stage < stages - 1; ++stage) {
            start_chunk(ring[stage], passing, pieces, input, weight, tile, rows, tile.first_chunk + stage);
            if (tile.first_chunk + stage < tile.end_chunk) passing.store(ring[stage]);
        }
    };
    i64 number = blockIdx.x;
    bool more = find_tile(tile, number, rows);
    if (more) begin();
    while (more) {
        Sums sums = {};
        int stage = 0;
#pragma unroll 1
        for (int c = tile.first_chunk; c < tile.end_chunk; ++c) {
            copy_async_wait<stages - 2>();
            __syncthreads();
            const int ahead = c + stages - 1;
            Chunk& target = ring[stage == 0 ? stages - 1 : stage - 1];
            start_chunk(target, passing, pieces, input, weight, tile, rows, ahead);
            multiply_chunk(sums, ring[stage]);
            if (ahead < tile.end_chunk) passing.store(target);
            stage = stage + 1 == stages ? 0 : stage + 1;
        }
        const Tile done = tile;
        number += gridDim.x;
        more = find_tile(tile, number, rows);
        __syncthreads();
        if (more) begin();
        if constexpr (stores_outputs) {
            store_outputs(sums, done, rows, bias, output);
        } else {
            store_shares(sums, done, rows, shares);
        }
    }
}

extern "C" __global__ void __launch_bounds__(tconv::overlap_add::k_gather_threads)
    tconv_overlap_add_gather(const float* __restrict__ shares, const tconv::Element* __restrict__ bias,
                             tconv::Element* __restrict__ output, int batch) {
    tconv::wait_for_launch_before();
    tconv::overlap_add::gather(shares, bias, output, batch);
}
