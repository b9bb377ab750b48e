// Transposed convolution on the tensor cores of compute capability 9.0a (wgmma) as one matrix product of every position
// and every tap, on 16-bit tensors as they lie in memory, by TMA: nothing is packed, shifted or multiplied twice. The
// products that meet in an output are added up in the block that has made them, by way of shared memory.
//
// One thread of a block starts copies, the warpgroups before it multiply what has arrived and store tiles of the
// output. A block takes tile after tile, so the copies of the next one run while the last one is stored.
#include "overlap_mma_pipeline.cuh"

namespace tconv::overlap_mma {

/// Steps along K of a stage, and of the last one.
constexpr int chunk_steps = chunk_channels / k_operand_depth;
constexpr int last_steps = (last_channels + k_operand_depth - 1) / k_operand_depth;

/// Where a product of all columns would need more registers than every thread begins with, it is two.
constexpr int first_n = config::first_n;
constexpr int second_n = product_n - first_n;
static_assert(second_n == 0 || first_n % k_operand_values == 0, "the second one begins with a box of columns");

/// One step along K of the columns from `Column` on.
template <int Column, int N>
__device__ __forceinline__ void multiply_step(float (&sums)[product_n / 2], u64 left, const unsigned char* right) {
    wgmma_start<Element, N, Major::mn, Major::mn>(
        reinterpret_cast<float(&)[N / 2]>(sums[Column / 2]), left,
        wgmma_operand_mn(right + Column / k_operand_values * weight_box, weight_box), true);
}

/// Products of one stage: `Steps` steps along K.
template <int Steps>
__device__ __forceinline__ void multiply_stage(float (&sums)[rows][product_n / 2], const unsigned char* left,
                                               const unsigned char* right) {
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Steps * rows; ++i) {
        const int k = i / rows;
        const int row = i % rows;
        const u64 a = wgmma_operand_mn<run_row>(
            left + row * (k_product_rows / run * run_bytes) + k * (k_operand_depth * run_row), run_bytes);
        multiply_step<0, first_n>(sums[row], a, right + k * k_mn_major_step);
        if constexpr (second_n > 0) multiply_step<first_n, second_n>(sums[row], a, right + k * k_mn_major_step);
    }
    wgmma_commit();
}

__device__ __forceinline__ void multiply_tile(float (&sums)[rows][product_n / 2], Turn& turn,
                                              const Pipeline& pipeline) {
#pragma unroll
    for (int i = 0; i < rows * (product_n / 2); ++i)
        sums[i / (product_n / 2)][i % (product_n / 2)] = 0;
    const int first_row = threadIdx.x / k_warpgroup * (rows * k_product_rows);
    int in_use = -1;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const unsigned char* stage = pipeline.operands + turn.stage * stage_bytes;
        const unsigned char* left = stage + first_row / run * run_bytes;
        barrier_wait_together(pipeline.full[turn.stage], turn.parity);
        if (last_steps == chunk_steps || chunk + 1 < chunks) {
            multiply_stage<chunk_steps>(sums, left, stage + input_bytes);
        } else {
            multiply_stage<last_steps>(sums, left, stage + input_bytes);
        }
        // The stage before is done once only these are pending.
        wgmma_wait<1>();
        if (in_use >= 0) release(pipeline.empty[in_use]);
        in_use = turn.stage;
        turn.advance();
    }
    wgmma_wait<0>();
    release(pipeline.empty[in_use]);
}

/// Rows of the products are positions.
struct PositionRows {
    /// Writes a product's columns of channels [First, First + Count) where the team's threads read them: line by line,
    /// rows from `row` on. Thread t has rows t % 32 / 4 and + 8 of the 16 of its warp, and two of every eight columns.
    template <int First, int Count>
    __device__ static __forceinline__ void put_shares(const float (&sums)[product_n / 2], float* shares, int row) {
        constexpr int begin = First * taps;
        constexpr int end = begin + Count * taps;
        const int lane_column = static_cast<int>(threadIdx.x) % 4 * 2;
        const int lane_row =
            row + static_cast<int>(threadIdx.x) % k_warpgroup / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
        float* target = shares + lane_column * share_pitch + lane_row;
#pragma unroll
        for (int i = 0; i < product_n / 2; ++i) {
            const int eight = i / 4 * 8;
            if (eight + 8 <= begin || eight >= end) continue;
            const int column = eight + i % 2;
            const bool whole = eight >= begin && eight + 8 <= end;
            if (whole || (column + lane_column >= begin && column + lane_column < end))
                target[(column - begin) * share_pitch + i % 4 / 2 * 8] = sums[i];
        }
    }
};

__device__ __forceinline__ void multiply_tiles(const Pipeline& pipeline, const Element* bias, Element* output,
                                               int windows) {
    Turn turn;
    Tile tile{};
    u32 parity = 0;
    for (int number = first_number(); find_tile(tile, number, windows); number += number_step()) {
        float sums[rows][product_n / 2];
        const Biases biases(bias, tile);
        multiply_tile(sums, turn, pipeline);
        store_tile<PositionRows>(sums, tile, biases, pipeline.gather, parity, output, windows);
    }
}

}  // namespace tconv::overlap_mma

extern "C" __global__ void __launch_bounds__(tconv::overlap_mma::threads, tconv::config::blocks)
    tconv_overlap_mma(const __grid_constant__ tconv::TensorMap input, const __grid_constant__ tconv::TensorMap weights,
                      const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output, int batch) {
    using namespace tconv;
    using namespace tconv::overlap_mma;
    const Pipeline pipeline = make_pipeline();
    const int windows = batch * slices;
    set_up(pipeline, input, weights);
    if (threadIdx.x / k_warpgroup == consumers) {
        if constexpr (share_registers) give_registers<producer_registers>();
        if (threadIdx.x == consumers * k_warpgroup) load_tiles(pipeline, input, weights, windows);
    } else {
        if constexpr (share_registers) take_registers<consumer_registers>();
        multiply_tiles(pipeline, bias, output, windows);
    }
    // No block ends while another may still signal its barriers.
    if constexpr (cluster_blocks > 1) cluster_sync();
}
