// Minimal filtering along the height: three products for two outputs of two taps each.
//
// Where the kernel is twice the stride each phase has two taps, b and, a stride further, a. A pair of neighbouring
// positions needs three inputs:
//     y0 = d0 * a + d1 * b = m0 + m1    m0 = (d0 - d1) * a,  m1 = d1 * (a + b)
//     y1 = d1 * a + d2 * b = m1 - m2    m2 = (d1 - d2) * b
// Each product is summed up over all channels and other taps; the pair's outputs are made of the three sums at the end.
// So a difference of two rows is some subtractions for all phases and taps, and the kernel is half as high again.
#pragma once

#include "box_load.cuh"

namespace tconv::few_outputs {

using namespace box;

constexpr bool filtered = config::filtered != 0;
constexpr int pair_products = 3;
constexpr int pairs = filtered ? AxisH::positions / 2 : 1;
constexpr int phases_h = AxisH::outputs / AxisH::positions;

static_assert(!filtered || AxisH::kernel == 2 * phases_h && AxisH::dilation == 1 && AxisH::positions == 2 * pairs &&
                               AxisH::window == AxisH::positions + 1,
              "pairs of positions have three inputs and two taps a phase");

/// No change, which the compiler cannot know: what depends on the value it neither knows before nor keeps in registers
/// from before. Only filtered, where registers are few.
template <class T>
__device__ __forceinline__ T hidden(T value) {
#ifndef TCONV_EMULATOR
    if constexpr (filtered && sizeof(T) == 8) asm volatile("" : "+l"(value));
    if constexpr (filtered && sizeof(T) == 4) asm volatile("" : "+r"(value));
#endif
    return value;
}

/// What is summed up apart: the outputs, or [pair][product][phase] along the height.
constexpr int sum_rows = filtered ? pairs * pair_products * phases_h : AxisH::outputs;
using Products = float[channels][AxisD::outputs][sum_rows][AxisW::outputs];

/// Both outputs of a pair have its second product.
__device__ constexpr bool begins_with_bias(int row) {
    return !filtered || row / phases_h % pair_products == 1;
}

/// Rows of the kernel as they are staged, filtered as [kd][product][phase], and all taps in whole vectors.
constexpr int staged_rows = filtered ? pair_products * phases_h : AxisH::kernel;
constexpr int staged_taps = AxisD::kernel * staged_rows * AxisW::kernel;
constexpr int taps_pitch = (staged_taps + 3) / 4 * 4;
constexpr int channel_pitch = channels * taps_pitch;

/// Taps of a product's phases within a plane of the kernel.
constexpr int product_taps = phases_h * AxisW::kernel;

/// Pair `number` of the kernel's taps: where its two lie among the tensor's, and its three among those staged.
struct TapPair {
    int a, b;
    int staged;

    __device__ __forceinline__ explicit TapPair(int number) {
        const int plane = number / product_taps;
        b = plane * product_taps + number;
        a = b + product_taps;
        staged = plane * (pair_products - 1) * product_taps + number;
    }
    __device__ __forceinline__ void store(float* taps, float value_a, float value_b) const {
        taps[staged] = value_a;
        taps[staged + product_taps] = value_a + value_b;
        taps[staged + 2 * product_taps] = value_b;
    }
};

/// What a pair's first and last products take of its rows.
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
    __device__ __forceinline__ float at(int in, int number) const {
        return values[in][number];
    }
};

/// Weights of a product's phases for an input channel, in each plane of the kernel that brings plane `id` of the window
/// to the outputs.
struct ProductTaps {
    float values[channels][AxisD::kernel][product_taps];

    __device__ __forceinline__ ProductTaps(const float* weights, int id, int product) {
#pragma unroll
        for (int c = 0; c < channels; ++c) {
#pragma unroll
            for (int kd = 0; kd < AxisD::kernel; ++kd) {
                if (AxisD::reached(id, kd) >= 0)
                    load_plane(values[c][kd], weights + c * taps_pitch, (kd * pair_products + product) * product_taps);
            }
        }
    }

private:
    __device__ __forceinline__ static void load_plane(float* plane, const float* weights, int first) {
#pragma unroll
        for (int quad = first / 4; quad * 4 < first + product_taps; ++quad) {
            const Floats<4> four = load<4>(weights + quad * 4);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int tap = quad * 4 + i - first;
                if (tap >= 0 && tap < product_taps) plane[tap] = four.v[i];
            }
        }
    }
};

/// An input, or a difference, against all its taps. So each multiplication has a new tap and a new sum, which always
/// have the same parity; where one tap meets the inputs of a row, each sum meets inputs of both, and so does a
/// register's bank.
__device__ __forceinline__ void add_value(Products& sums, float value, int number, const ProductTaps& taps, int id,
                                          int row) {
#pragma unroll
    for (int c = 0; c < channels; ++c) {
#pragma unroll
        for (int kd = 0; kd < AxisD::kernel; ++kd) {
            const int jd = AxisD::reached(id, kd);
            if (jd < 0) continue;
#pragma unroll
            for (int tap = 0; tap < product_taps; ++tap) {
                const int jw = AxisW::reached(number, tap % AxisW::kernel);
                if (jw < 0) continue;
                float& sum = sums[c][jd][row + tap / AxisW::kernel][jw];
                sum = fmaf(value, taps.values[c][kd][tap], sum);
            }
        }
    }
}

/// Product `product` of a pair, of what plane `id` of the window brings to it.
template <class Values>
__device__ __forceinline__ void add_product(Products& sums, const Values& values, const float* weights, int id,
                                            int pair, int product) {
#pragma unroll
    for (int in = 0; in < in_span; ++in) {
        const ProductTaps taps(weights + in * channel_pitch, id, product);
#pragma unroll
        for (int number = 0; number < AxisW::window; ++number)
            add_value(sums, values.at(in, number), number, taps, id, (pair * pair_products + product) * phases_h);
    }
}

/// Plane `id` of the window. `row(i)` is its row i, and `done(i)` is called as soon as an even one is needed no more:
/// that of a pair in the middle is needed to the end.
template <class RowAt, class Done>
__device__ __forceinline__ void add_plane(Products& sums, const RowAt& row, const float* weights, int id,
                                          const Done& done) {
#pragma unroll
    for (int pair = 0; pair < pairs; ++pair) {
        const Row& middle = row(2 * pair + 1);
        add_product(sums, Difference(row(2 * pair), middle), weights, id, pair, 0);
        done(2 * pair);
        add_product(sums, Difference(middle, row(2 * pair + 2)), weights, id, pair, 2);
        if (pair == pairs - 1) done(2 * pair + 2);
        add_product(sums, middle, weights, id, pair, 1);
    }
}

/// The outputs of a thread, from what was summed up apart.
__device__ __forceinline__ void join_products(Sums& outputs, const Products& sums) {
#pragma unroll
    for (int c = 0; c < channels; ++c) {
#pragma unroll
        for (int jd = 0; jd < AxisD::outputs; ++jd) {
#pragma unroll
            for (int jh = 0; jh < AxisH::outputs; ++jh) {
                const int row = jh / (2 * phases_h) * pair_products * phases_h + jh % phases_h;
                const bool second = jh / phases_h % 2 == 1;
#pragma unroll
                for (int jw = 0; jw < AxisW::outputs; ++jw) {
                    const auto product = [&](int i) { return sums[c][jd][row + i * phases_h][jw]; };
                    outputs[c][jd][jh][jw] = second ? product(1) - product(2) : product(0) + product(1);
                }
            }
        }
    }
}

/// Calls `write` with the outputs, which need be right only where the thread stores them.
template <class Rows, class Write>
__device__ __forceinline__ void with_outputs(Rows& sums, bool stores, const Write& write) {
    if constexpr (filtered) {
        Sums outputs;
        if (stores) join_products(outputs, sums);
        write(outputs);
    } else {
        write(sums);
    }
}

}  // namespace tconv::few_outputs
