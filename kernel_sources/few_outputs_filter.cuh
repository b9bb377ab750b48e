// Minimal filtering along the height: three products for two outputs of two taps each.
//
// Where the kernel is twice the stride each phase has two taps, b and, a stride further, a. A pair of neighbouring
// positions needs three inputs:
//     y0 = d0 * a + d1 * b = m0 + m1    m0 = (d0 - d1) * a,  m1 = d1 * (a + b)
//     y1 = d1 * a + d2 * b = m1 - m2    m2 = (d1 - d2) * b
// Products are summed up apart over all channels and other taps, and joined once. So a difference of two rows is some
// subtractions for all phases, and the weights are a third longer kernel's: [kd][product][phase][kw].
#pragma once

#include "box_load.cuh"

namespace tconv::few_outputs {

using namespace box;

constexpr bool filtered = config::filtered != 0;
constexpr int pair_products = 3;
constexpr int pairs = AxisH::positions / 2;
constexpr int phases_h = AxisH::outputs / AxisH::positions;

static_assert(!filtered || AxisH::kernel == 2 * phases_h && AxisH::dilation == 1 && AxisH::positions % 2 == 0 &&
                  AxisH::window == AxisH::positions + 1,
              "pairs of positions have three inputs and two taps a phase");

/// What is summed up apart: the outputs, or [pair][product][phase] along the height.
constexpr int sum_rows = filtered ? pairs * pair_products * phases_h : AxisH::outputs;
using Products = float[channels][AxisD::outputs][sum_rows][AxisW::outputs];

/// Both outputs of a pair have its second product.
__device__ constexpr bool begins_with_bias(int row) {
    return !filtered || row / phases_h % pair_products == 1;
}

/// Rows of the kernel along the height as they are staged, and all its taps.
constexpr int staged_kernel_h = filtered ? pair_products * phases_h : AxisH::kernel;
constexpr int staged_taps = AxisD::kernel * staged_kernel_h * AxisW::kernel;

/// Taps of a plane of the kernel that have the same place in a phase: those that are b, then those that are a.
constexpr int half_plane = AxisH::kernel * AxisW::kernel / 2;

/// Pair `number` of the kernel's taps: where its two lie among the tensor's, and its three among those staged.
struct TapPair {
    int a, b;
    int staged;

    __device__ __forceinline__ explicit TapPair(int number) {
        const int plane = number / half_plane;
        b = plane * half_plane + number;
        a = b + half_plane;
        staged = plane * (pair_products - 1) * half_plane + number;
    }
    __device__ __forceinline__ void store(float* taps, float value_a, float value_b) const {
        taps[staged] = value_a;
        taps[staged + half_plane] = value_a + value_b;
        taps[staged + 2 * half_plane] = value_b;
    }
};

/// What a pair's first and last product take of its rows.
struct Difference {
    float values[in_span][AxisW::window];

    __device__ __forceinline__ Difference(const Row& row, const Row& next) {
#pragma unroll
        for (int in = 0; in < in_span; ++in) {
#pragma unroll
            for (int number = 0; number < AxisW::window; ++number)
                values[in][number] = row.at(in, number) - next.at(in, number);
        }
    }
    __device__ __forceinline__ float at(int in, int number) const { return values[in][number]; }
};

__device__ __forceinline__ void join_products(Sums& sums, const Products& products) {
#pragma unroll
    for (int c = 0; c < channels; ++c) {
#pragma unroll
        for (int jd = 0; jd < AxisD::outputs; ++jd) {
#pragma unroll
            for (int jh = 0; jh < AxisH::outputs; ++jh) {
                const int first = jh / (2 * phases_h) * pair_products * phases_h + jh % phases_h;
                const bool second = jh / phases_h % 2 == 1;
#pragma unroll
                for (int jw = 0; jw < AxisW::outputs; ++jw) {
                    const auto product = [&](int i) { return products[c][jd][first + i * phases_h][jw]; };
                    sums[c][jd][jh][jw] = second ? product(1) - product(2) : product(0) + product(1);
                }
            }
        }
    }
}

/// Calls `write` with the outputs, which need be right only where the thread stores them.
template <class Rows, class Write>
__device__ __forceinline__ void with_outputs(Rows& products, bool stores, const Write& write) {
    if constexpr (filtered) {
        Sums outputs;
        if (stores) join_products(outputs, products);
        write(outputs);
    } else {
        write(products);
    }
}

}  // namespace tconv::few_outputs
