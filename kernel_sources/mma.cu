// Transposed convolution on the tensor cores by warp-wide products (mma.sync, compute capability 8.0 and up), for every
// problem in every type and layout. A first launch packs the weights into the order in which lanes hold them; another
// one may pack the input in pairs of channels.
#include "mma_compute.cuh"
#include "mma_direct.cuh"
#include "mma_pack.cuh"
#include "mma_pack_input.cuh"
#include "product_boxes.cuh"
#include "product_pack.cuh"

extern "C" __global__ void __launch_bounds__(256)
    tconv_mma_pack(const tconv::Element* __restrict__ weight, tconv::u32* __restrict__ packed_weight) {
    using namespace tconv;
    let_next_launch_start();
    product::pack_weights(weight, packed_weight);
}

extern "C" __global__ void __launch_bounds__(tconv::product::pack_input_threads)
    tconv_mma_pack_input(const tconv::Element* __restrict__ input, tconv::u32* __restrict__ packed) {
    using namespace tconv;
    let_next_launch_start();
    if constexpr (product::packs_input) product::pack_input<config::input_vector>(input, packed);
    wait_for_launch_before();  // for whoever waits for this one, and reads the weights too
}

extern "C" __global__ void __launch_bounds__(tconv::product::threads, tconv::config::min_blocks)
    tconv_mma(const tconv::product::LineElement* __restrict__ input, const tconv::u32* __restrict__ packed_weight,
              const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output, int batch) {
    using namespace tconv;
    if constexpr (!product::boxes) {
        wait_for_launch_before();
        if (product::persistent && blockIdx.x >= product::tiles_of(batch)) return;
        product::run_block({input, packed_weight, bias, output, batch, nullptr});
    }
}

extern "C" __global__ void __launch_bounds__(tconv::product::threads, tconv::config::min_blocks)
    tconv_mma_boxes(const __grid_constant__ tconv::TensorMap input, const tconv::u32* __restrict__ packed_weight,
                    const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output, int batch) {
    using namespace tconv;
    if constexpr (product::boxes) {
        product::run_block({nullptr, packed_weight, bias, output, batch, nullptr}, input);
    }
}
