// Transposed convolution in plain fp32 arithmetic as one matrix product without a halo: every position of the input
// meets every tap, with both tensors as they lie in memory. Where kernel = stride each product is an output; otherwise
// those that meet in an output are added up in the block that has made them, or go to the workspace, for a second
// launch.
#include "overlap_add_gather.cuh"
#include "overlap_add_load.cuh"
#include "overlap_add_shape.cuh"
#include "overlap_add_store.cuh"

namespace tconv::overlap_add {

/// What a block multiplies, and what becomes of it.
struct Work {
    static constexpr bool passes = !input_copied || !weights_copied;
    static constexpr int share_floats = in_block ? block_share_floats : 0;

    const Element* input;
    const Element* weight;
    const Element* bias;
    Element* output;
    float* shares;
    int batch;
    i64 rows;
    Tile tile;
    Tile kept;
    CopiedPieces pieces;
    Passing passing[stages];

    __device__ __forceinline__ bool find(int number) { return find_tile(tile, number, rows, batch); }
    __device__ __forceinline__ int first_chunk() const { return tile.first_chunk; }
    __device__ __forceinline__ int end_chunk() const { return tile.end_chunk; }
    __device__ __forceinline__ void place() { pieces.place_at(tile, rows, input, weight); }
    __device__ __forceinline__ void start(Chunk& target, int number, int slot) {
        const int channel = number * chunk;
        if (number >= tile.end_chunk) return;
        pieces.start(target, input, weight, in_group - channel);
        passing[slot].load(input, weight, tile, rows, channel);
    }
    __device__ __forceinline__ void finish(Chunk& target, int slot) const { passing[slot].store(target); }
    __device__ __forceinline__ void meanwhile() const {
        if constexpr (stores_outputs || in_block) prefetch_bias(bias, tile);
    }
    __device__ __forceinline__ void keep() { kept = tile; }
    template <int M, int N>
    __device__ __forceinline__ void store(const QuadSums<M, N>& sums, const QuadPlace& place) const {
        if constexpr (in_block) {
            put_shares(sums, place, kept, bias);
        } else if constexpr (stores_outputs) {
            store_outputs(sums, place, kept, rows, bias, output);
        } else {
            store_shares(sums, place, kept, rows, shares);
        }
    }
    __device__ __forceinline__ void gather() const {
        if constexpr (in_block) gather_outputs<tile_m>(kept, batch, output);
    }
};

}  // namespace tconv::overlap_add

extern "C" __global__ void __launch_bounds__(tconv::overlap_add::threads, tconv::config::min_blocks)
    tconv_overlap_add(const tconv::Element* __restrict__ input, const tconv::Element* __restrict__ weight,
                      const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output,
                      float* __restrict__ shares, int batch) {
    using namespace tconv;
    using namespace tconv::overlap_add;
    let_next_launch_start();
    Work work{input, weight, bias, output, shares, batch, batch * positions, {}, {}, {}, {}};
    multiply_tiles(work);
}

extern "C" __global__ void __launch_bounds__(tconv::overlap_add::k_gather_threads)
    tconv_overlap_add_gather(const float* __restrict__ shares, const tconv::Element* __restrict__ bias,
                             tconv::Element* __restrict__ output, int batch) {
    tconv::wait_for_launch_before();
    tconv::overlap_add::gather(shares, bias, output, batch);
}
