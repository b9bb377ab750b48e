// Transposed convolution in plain fp32 arithmetic, for every problem in every type and layout. A first launch packs the
// weights into the order in which lanes read them.
#include "fma_compute.cuh"
#include "fma_direct.cuh"
#include "fma_pack.cuh"
#include "product_boxes.cuh"
#include "product_pack.cuh"

extern "C" __global__ void __launch_bounds__(256)
    tconv_fma_pack(const tconv::Element* __restrict__ weight, tconv::u32* __restrict__ packed_weight) {
    using namespace tconv;
    let_next_launch_start();
    product::pack_weights(weight, packed_weight);
}

extern "C" __global__ void __launch_bounds__(tconv::product::threads, tconv::config::min_blocks)
    tconv_fma(const tconv::Element* __restrict__ input, const tconv::u32* __restrict__ packed_weight,
              const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output, int batch) {
    using namespace tconv;
    if constexpr (product::splits == 1 && !product::boxes) {
        wait_for_launch_before();
        if (product::persistent && blockIdx.x >= product::tiles_of(batch)) return;
        product::run_block({input, packed_weight, bias, output, batch, nullptr});
    }
}

extern "C" __global__ void __launch_bounds__(tconv::product::threads, tconv::config::min_blocks)
    tconv_fma_boxes(const __grid_constant__ tconv::TensorMap input, const tconv::u32* __restrict__ packed_weight,
                    const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output, int batch) {
    using namespace tconv;
    if constexpr (product::boxes) {
        product::run_block({nullptr, packed_weight, bias, output, batch, nullptr}, input);
    }
}

// Where blocks share a tile: first their sums, then the output.
extern "C" __global__ void __launch_bounds__(tconv::product::threads, tconv::config::min_blocks)
    tconv_fma_split(const tconv::Element* __restrict__ input, const tconv::u32* __restrict__ packed_weight,
                    float* __restrict__ partials, int batch) {
    using namespace tconv;
    if constexpr (product::splits > 1) {
        let_next_launch_start();
        wait_for_launch_before();
        product::run_block({input, packed_weight, nullptr, nullptr, batch, partials});
    }
}
extern "C" __global__ void __launch_bounds__(tconv::product::threads)
    tconv_fma_finish(const float* partials, const tconv::Element* __restrict__ bias,
                     tconv::Element* __restrict__ output, int batch) {
    using namespace tconv;
    if constexpr (product::splits > 1) {
        wait_for_launch_before();
        product::finish_block({nullptr, nullptr, bias, output, batch, nullptr}, partials);
    }
}
