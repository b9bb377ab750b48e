// Transposed convolution of fp32 tensors on the tensor cores of compute capability 9.0a (wgmma) as one matrix product
// of every tap and every position: TF32, or pairs of bfloat16. The products that meet in an output are added up in the
// block that has made them, by way of shared memory.
//
// Products of 32-bit values want both operands along K, and the tensors have positions and columns along rows. So the
// weights, as they lie in memory, go to registers, where their order is free: columns are rows of the product. The
// input is brought into an operand's order once a block, for all its columns.
#include "overlap_mma32_pack.cuh"
#include "wgmma_registers.cuh"

namespace tconv::overlap_mma {

/// Eight channels at a time.
constexpr int k_eight = 8;
constexpr int chunk_eights = chunk_channels / k_eight;
constexpr int last_eights = (last_channels + k_eight - 1) / k_eight;

/// Where a lane's weights lie in 64 columns of eight channels, two boxes: of rows lane / 4 (+ 8: half 1) of its warp's
/// 16, and channels 2 * (lane % 4) + odd.
struct LaneWeights {
    u32 offsets[2][2];  // [half][odd]

    __device__ __forceinline__ LaneWeights() {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const int warp = static_cast<int>(threadIdx.x) % k_warpgroup / 32;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int half = i / 2;
            const int odd = i % 2;
            const int column = warp % 2 * 16 + half * 8 + lane / 4;
            offsets[half][odd] = static_cast<u32>(warp / 2 * weight_box) +
                                 swizzled<k_operand_row>((lane % 4 * 2 + odd) * k_operand_row + column * 4);
        }
    }
    __device__ __forceinline__ float load(const unsigned char* eight, int half, int odd) const {
        return *reinterpret_cast<const float*>(eight + offsets[half][odd]);
    }
};

/// A warp's part of A, of `Eights` times eight channels. Of two such eights a product of bfloat16 takes the words of
/// both, packed in pairs: high parts, then low ones.
template <int Eights>
struct Fragments {
    static constexpr int count = split ? (Eights + 1) / 2 : Eights;
    u32 words[count][split ? 2 : 1][4];

    __device__ __forceinline__ void load(const unsigned char* columns, const LaneWeights& lane) {
#pragma unroll
        for (int i = 0; i < count * 4; ++i) {
            const int product = i / 4;
            const int half = i % 2;
            const int second = i % 4 / 2;
            if constexpr (split) {
                const unsigned char* eight = columns + (2 * product + second) * (k_eight * k_operand_row);
                split_bf16(lane.load(eight, half, 0), lane.load(eight, half, 1), words[product][0][i % 4],
                           words[product][1][i % 4]);
            } else {
                const unsigned char* eight = columns + product * (k_eight * k_operand_row);
                words[product][0][i % 4] = __float_as_uint(lane.load(eight, half, second));
            }
        }
    }
};

using Operand = Either<split, bf16, tf32>::type;

/// One product; `along` are the bytes along K of the input's operand.
__device__ __forceinline__ void multiply(float (&sums)[product_n / 2], const u32 (&weights)[4],
                                         const unsigned char* packed, int along) {
    wgmma_start<Operand, product_n>(sums, weights, wgmma_operand(packed, along, 8 * k_operand_row), true);
}

/// The products of one stage of `Eights` times eight channels; `columns` are the warpgroup's first.
template <int Eights>
__device__ __forceinline__ void multiply_stage(float (&sums)[rows][product_n / 2], const unsigned char* columns,
                                               const unsigned char* packed, const LaneWeights& lane) {
    constexpr int row_bytes = k_product_rows / box_columns * weight_box;
    Fragments<Eights> fragments[rows];
#pragma unroll
    for (int row = 0; row < rows; ++row)
        fragments[row].load(columns + row * row_bytes, lane);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Fragments<Eights>::count * rows; ++i) {
        const int product = i / rows;
        const int row = i % rows;
        const int along = product * k_operand_step;
        multiply(sums[row], fragments[row].words[product][0], packed, along);
        if constexpr (split) {
            multiply(sums[row], fragments[row].words[product][0], packed, along + k_operand_row / 2);
            multiply(sums[row], fragments[row].words[product][1], packed, along);
        }
    }
    wgmma_commit();
    // The weights were read by plain loads; that they were takes no time while products run.
    fence_async_proxy();
    wgmma_wait<0>();
}

__device__ __forceinline__ void multiply_tile(float (&sums)[rows][product_n / 2], Turn& turn, const Pipeline& pipeline,
                                              const LaneWeights& lane) {
    constexpr int warpgroup_bytes = rows * (k_product_rows / box_columns) * weight_box;
#pragma unroll
    for (int i = 0; i < rows * (product_n / 2); ++i)
        sums[i / (product_n / 2)][i % (product_n / 2)] = 0;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const unsigned char* stage = pipeline.operands + turn.stage * stage_bytes;
        const unsigned char* columns = stage + threadIdx.x / k_warpgroup * warpgroup_bytes;
        barrier_wait_together(pipeline.stages.full[turn.stage], turn.parity);
        if (last_eights == chunk_eights || chunk + 1 < chunks) {
            multiply_stage<chunk_eights>(sums, columns, stage + weight_bytes, lane);
        } else {
            multiply_stage<last_eights>(sums, columns, stage + weight_bytes, lane);
        }
        __syncwarp();
        release(pipeline.stages.empty[turn.stage]);
        turn.advance();
    }
}

/// Rows of the products are columns of the tile.
struct ColumnRows {
    /// Writes a product's rows of channels [First, First + Count) where the block's threads read them; `row` is the
    /// product's first. Thread t has rows t % 32 / 4 and + 8 of the 16 of its warp, and two of every eight positions.
    template <int First, int Count>
    __device__ static __forceinline__ void put_shares(const float (&sums)[product_n / 2], float* shares, int row) {
        constexpr int begin = First * taps;
        constexpr int end = begin + Count * taps;
        const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int column = row + static_cast<int>(threadIdx.x) % k_warpgroup / 32 * 16 + half * 8 + lane / 4;
            if (column < begin || column >= end) continue;
            float* target = shares + (column - begin) * share_pitch + lane % 4 * 2;
#pragma unroll
            for (int i = 0; i < product_n / 8; ++i)
                store<2>(target + i * 8, Floats<2>{{sums[4 * i + 2 * half], sums[4 * i + 2 * half + 1]}});
        }
    }
};

__device__ __forceinline__ void multiply_tiles(const Pipeline& pipeline, const Element* bias, Element* output,
                                               int windows) {
    const LaneWeights lane;
    Turn turn;
    Tile tile{};
    u32 parity = 0;
    for (int number = first_number(); find_tile(tile, number, windows); number += number_step()) {
        float sums[rows][product_n / 2];
        const Biases biases(bias, tile);
        multiply_tile(sums, turn, pipeline, lane);
        store_tile<ColumnRows>(sums, tile, biases, pipeline.gather, parity, output, windows);
    }
}

}  // namespace tconv::overlap_mma

extern "C" __global__ void __launch_bounds__(tconv::overlap_mma::threads, tconv::config::blocks)
    tconv_overlap_mma32(const __grid_constant__ tconv::TensorMap input,
                        const __grid_constant__ tconv::TensorMap weights, const tconv::Element* __restrict__ bias,
                        tconv::Element* __restrict__ output, int batch) {
    using namespace tconv;
    using namespace tconv::overlap_mma;
    const Pipeline pipeline = make_pipeline();
    const int windows = batch * slices;
    set_up(pipeline, input, weights);
    if (threadIdx.x / k_warpgroup == consumers) {
        if constexpr (share_registers) give_registers<producer_registers>();
        const int warp = static_cast<int>(threadIdx.x) % k_warpgroup / 32;
        if (warp > 0) {
            pack_tiles(pipeline, warp - 1, windows);
        } else if (threadIdx.x % 32 == 0) {
            load_tiles(pipeline, input, weights, windows);
        }
    } else {
        if constexpr (share_registers) take_registers<consumer_registers>();
        multiply_tiles(pipeline, bias, output, windows);
    }
    // No block ends while another may still signal its barriers.
    if constexpr (cluster_blocks > 1) cluster_sync();
}
