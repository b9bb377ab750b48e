// Transposed convolution on the tensor cores by warp-wide products (mma.sync, compute capability 8.0 and up), for every
// problem in every type and layout.
//
// An implicit matrix product: rows are positions q of the output's coarse grid (o + padding = q * stride + phase),
// columns are phases x output channels, K is offsets x input channels. A block loads its positions' inputs with their
// halo once a chunk of channels and every tap reads them shifted; phases joined in a block share those reads. A first
// launch packs the weights into the order in which lanes hold them.
#include "mma_compute.cuh"
#include "mma_load.cuh"
#include "mma_pack.cuh"
#include "mma_store.cuh"

namespace tconv::mma {

__device__ __forceinline__ void load_stage(u32* stage, const Element* input, const u32* weights, const Place& place,
                                           int batch, int lead, int chunk) {
    if constexpr (!gathers) copy_input(stage, input, place, batch, lead, chunk);
    copy_weights(stage + input_stage, weights, place, chunk);
}

/// All chunks of channels, with `stages` of them in shared memory.
__device__ __forceinline__ void multiply_all(Sums& sums, const Element* input, const u32* weights, const Place& place,
                                             int batch, int warp_m, int warp_n) {
    constexpr int stages = config::stages;
    u32* shared = dynamic_shared<u32>();
    const int lead = lead_of(place);
    const Rows rows = rows_of_lane(warp_m, lead);
    Gathered gathered;
    if constexpr (gathers) {
        gather_input(gathered, input, place, batch, lead, 0);
        put_gathered(shared, gathered);
    }
#pragma unroll
    for (int chunk = 0; chunk < stages - 1; ++chunk) {
        if (chunk < chunks) load_stage(shared + chunk * stage_words, input, weights, place, batch, lead, chunk);
        copy_async_commit();
    }
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
        copy_async_wait<stages - 2>();
        __syncthreads();
        const int ahead = chunk + stages - 1;
        if (ahead < chunks)
            load_stage(shared + ahead % stages * stage_words, input, weights, place, batch, lead, ahead);
        copy_async_commit();
        if constexpr (gathers) {
            if (chunk + 1 < chunks) gather_input(gathered, input, place, batch, lead, chunk + 1);
        }
        multiply_chunk(sums, shared + chunk % stages * stage_words, rows, place, warp_n);
        if constexpr (gathers) {
            if (chunk + 1 < chunks) put_gathered(shared + (chunk + 1) % stages * stage_words, gathered);
        }
    }
}

}  // namespace tconv::mma

extern "C" __global__ void __launch_bounds__(256)
    tconv_mma_pack(const tconv::mma::Element* __restrict__ weight, tconv::u32* __restrict__ packed_weight) {
    using namespace tconv;
    const i64 number = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x;
    if (number < mma::pack_threads) mma::pack_weights(weight, packed_weight, number);
}

extern "C" __global__ void __launch_bounds__(tconv::mma::threads, tconv::config::min_blocks)
    tconv_mma(const tconv::mma::Element* __restrict__ input, const tconv::u32* __restrict__ packed_weight,
              const tconv::mma::Element* __restrict__ bias, tconv::mma::Element* __restrict__ output, int batch) {
    using namespace tconv;
    using namespace tconv::mma;
    const Place place = place_of_block();
    const int warp = threadIdx.x / 32;
    const int warp_m = warp % warps_m;
    const int warp_n = warp / warps_m;

    Sums sums = {};
    if (place.run_d.count > 0 && place.run_h.count > 0 && place.run_w.count > 0)
        multiply_all(sums, input, packed_weight, place, batch, warp_m, warp_n);
    __syncthreads();
    const Staging staging = make_staging(place, batch, warp, warp_m);
    __syncwarp();
    const bool aligned = reinterpret_cast<u64>(output) % (store_vector * sizeof(Element)) == 0;
    const int first_channel = place.channel_block * block_channels + warp_n * n_fragments * 8;
    if constexpr (packed) {
        store_packed(sums, staging, bias, output, place, aligned);
    } else if constexpr (stores_rows) {
        store_rows(sums, staging, bias, output, place, first_channel, aligned);
    } else {
        store_channels(sums, staging, bias, output, place, first_channel, aligned);
    }
}
