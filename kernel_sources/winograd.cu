// Transposed convolution in plain fp32 arithmetic with fewer multiplications than outputs times taps: minimal filtering
// of each axis, nested. Four launches: the weights' transform, the input's, one matrix product for each point, and the
// transform of their sums to outputs. Where a config asks for it, a fifth computes outputs near the image's end anew.
#include "winograd_border.cuh"
#include "winograd_input.cuh"
#include "winograd_output.cuh"
#include "winograd_product.cuh"
#include "winograd_shape.cuh"
#include "winograd_weights.cuh"

extern "C" __global__ void __launch_bounds__(tconv::winograd::k_transform_threads)
    tconv_winograd_weights(const tconv::Element* __restrict__ weight, float* __restrict__ transformed) {
    tconv::let_next_launch_start();
    tconv::winograd::transform_weights(weight, transformed);
}

extern "C" __global__ void __launch_bounds__(tconv::winograd::k_transform_threads)
    tconv_winograd_input(const tconv::Element* __restrict__ input, float* __restrict__ workspace, int batch,
                         tconv::winograd::PartNumber part) {
    tconv::let_next_launch_start();
    // What the launch before reads or writes lies elsewhere: the weights, or the products of the part before.
    tconv::winograd::transform_input(input, workspace, {part, batch});
    // The next launch needs it to have ended.
    tconv::wait_for_launch_before();
}

extern "C" __global__ void __launch_bounds__(tconv::quads::threads, tconv::config::min_blocks)
    tconv_winograd_product(float* workspace, const float* __restrict__ weight, int batch,
                           tconv::winograd::PartNumber part) {
    using namespace tconv::winograd;
    tconv::let_next_launch_start();
    tconv::wait_for_launch_before();
    const int rows = Part(part, batch).rows();
    Work work{workspace, weight, workspace + products_offset(row_pitch(rows)), rows, {}, {}, {}, {}};
    multiply_tiles(work);
}

extern "C" __global__ void __launch_bounds__(tconv::winograd::k_output_threads)
    tconv_winograd_output(const float* __restrict__ workspace, const tconv::Element* __restrict__ bias,
                          tconv::Element* __restrict__ output, int batch, tconv::winograd::PartNumber part) {
    tconv::wait_for_launch_before();
    // Not before: the next part's input takes the place of what the products are made of.
    tconv::let_next_launch_start();
    tconv::winograd::transform_products(workspace, bias, output, {part, batch});
}

extern "C" __global__ void __launch_bounds__(tconv::winograd::k_border_threads)
    tconv_winograd_border_weights(const tconv::Element* __restrict__ weight, float* __restrict__ packed) {
    if constexpr (tconv::config::direct_border > 0) tconv::winograd::pack_border_weights(weight, packed);
}

extern "C" __global__ void __launch_bounds__(tconv::winograd::k_border_threads)
    tconv_winograd_border(const tconv::Element* __restrict__ input, const float* __restrict__ weight,
                          const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output, int batch) {
    if constexpr (tconv::config::direct_border > 0) tconv::winograd::replace_border(input, weight, bias, output, batch);
}
