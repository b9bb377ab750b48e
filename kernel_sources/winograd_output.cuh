// From products to outputs: a thread has one tile of one output channel in one phase along the depth and the height,
// and all phases along the width.
#pragma once

#include "element_vectors.cuh"
#include "winograd_shape.cuh"

namespace tconv::winograd {

constexpr int k_output_threads = 128;
/// Outputs of a tile along the width, one after the other.
constexpr int run = AxisW::tile * AxisW::stride;
constexpr int lines = AxisD::tile * AxisH::tile;
using Outputs = float[lines][run];

/// Products of a plane of points: those of one point along the depth, for one phase along the width.
template <class H, class W>
__device__ __forceinline__ void load_plane(float (&plane)[H::points * W::points], const float* products, i64 pitch) {
#pragma unroll
    for (int h = 0; h < H::points; ++h) {
#pragma unroll
        for (int w = 0; w < W::points; ++w)
            plane[h * W::points + w] = load_readonly(products + product_line(matrix_of(0, 0, h, w), 0, pitch));
    }
}

/// Which outputs a thread has.
struct Target {
    int row;
    Row tile;
    int channel;  // of all groups
    int phase_d, phase_h;
};
constexpr int phases_dh = AxisD::stride * AxisH::stride;
__device__ __forceinline__ Target target_at(i64 number, int rows) {
    const Place place = place_of(number, rows);
    return {place.row, row_at(place.row), place.line / phases_dh, place.line % phases_dh / AxisH::stride,
            place.line % AxisH::stride};
}

/// Adds what the products of a class of phases along the width, which begin at `Phase`, are in the outputs.
template <int Phase, class D, class H, class W>
__device__ __forceinline__ void add_class(Outputs& outputs, const D& of_d, const H& of_h, const W& of_w,
                                          const float* products, const Target& target, i64 pitch) {
    using OfDepth = typename D::Transform::OfOutputs;
#pragma unroll
    for (int phase = 0; phase < W::phases; ++phase) {
        const int column =
            column_of(target.channel % out_group, target.phase_d - of_d.phase, target.phase_h - of_h.phase, phase);
        toom_cook::for_each_number<D::points>([&](auto point) {
            constexpr int p = decltype(point)::value;
            const int matrix = matrix_of(target.channel / out_group, of_d.point + p, of_h.point, of_w.point);
            float plane[H::points * W::points];
            load_plane<H, W>(plane, products + product_line(matrix, column, pitch), pitch);
            float by_w[H::points * AxisW::tile];
            apply<typename W::Transform::OfOutputs, H::points, 1>(plane, by_w);
            float by_h[AxisH::tile * AxisW::tile];
            apply<typename H::Transform::OfOutputs, 1, AxisW::tile>(by_w, by_h);
            toom_cook::for_each_number<AxisD::tile>([&](auto position) {
                constexpr int d = decltype(position)::value;
                constexpr float factor = static_cast<float>(OfDepth::at(d, p));
                if constexpr (factor != 0) {
#pragma unroll
                    for (int i = 0; i < AxisH::tile * AxisW::tile; ++i) {
                        float& sum =
                            outputs[d * AxisH::tile + i / AxisW::tile][i % AxisW::tile * AxisW::stride + Phase + phase];
                        sum = toom_cook::add_product<false>(sum, factor, by_h[i]);
                    }
                }
            });
        });
    }
}

__device__ __forceinline__ void add_products(Outputs& outputs, const float* products, const Target& target, i64 pitch) {
    AxisD::with_class(target.phase_d >= AxisD::split ? 1 : 0, [&](auto d) {
        AxisH::with_class(target.phase_h >= AxisH::split ? 1 : 0, [&](auto h) {
            toom_cook::for_each_number<AxisW::classes>([&](auto number) {
                constexpr int w = decltype(number)::value;
                constexpr int phase = w == 0 ? 0 : AxisW::split;
                add_class<phase>(outputs, d, h, AxisW::template class_at<w>(w), products, target, pitch);
            });
        });
    });
}

/// Output of the tile's position (d, h) along the depth and the height, at the run's first place; false outside.
__device__ __forceinline__ bool find_line(i64& offset, const Target& target, int d, int h) {
    const int o_d =
        ((target.tile.d - (AxisD::kept - 1)) * AxisD::tile + d) * AxisD::stride + target.phase_d - AxisD::lead;
    const int o_h = (target.tile.h * AxisH::tile + h) * AxisH::stride + target.phase_h - AxisH::lead;
    const int o_w = target.tile.w * run - AxisW::lead;
    const i64 line = target.tile.entry * problem::out_channels + target.channel;
    offset = ((line * AxisD::output + o_d) * AxisH::output + o_h) * AxisW::output + o_w;
    return o_d >= 0 && o_d < AxisD::output && o_h >= 0 && o_h < AxisH::output;
}

/// Runs begin at a multiple of `Vector` elements.
template <int Vector>
__device__ __forceinline__ void store_runs(const Outputs& outputs, const Target& target, Element* output) {
#pragma unroll
    for (int line = 0; line < lines; ++line) {
        i64 offset = 0;
        if (!find_line(offset, target, line / AxisH::tile, line % AxisH::tile)) continue;
#pragma unroll
        for (int i = 0; i < run; i += Vector) {
            if (target.tile.w * run + i < AxisW::output) store_vector<Vector>(output + offset + i, &outputs[line][i]);
        }
    }
}

/// One line of every thread's tile at a time.
struct Staged {
    float values[k_output_threads][run + 1];
    i64 offset[k_output_threads];
    int begin[k_output_threads];  // first output along the width; those outside are not stored
};

__device__ __forceinline__ void store_staged(Staged& staged, const Outputs& outputs, const Target& target, bool inside,
                                             Element* output) {
    const int own = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int line = 0; line < lines; ++line) {
        i64 offset = 0;
        const bool found = inside && find_line(offset, target, line / AxisH::tile, line % AxisH::tile);
        __syncthreads();
        staged.offset[own] = offset;
        staged.begin[own] = found ? target.tile.w * run - AxisW::lead : AxisW::output;
#pragma unroll
        for (int i = 0; i < run; ++i)
            staged.values[own][i] = outputs[line][i];
        __syncthreads();
#pragma unroll 4
        for (int i = 0; i < run; ++i) {
            const int number = i * k_output_threads + own;
            const int from = number / run;
            const int place_w = number % run;
            const int o_w = staged.begin[from] + place_w;
            if (o_w >= 0 && o_w < AxisW::output)
                output[staged.offset[from] + place_w] = from_float<Element>(staged.values[from][place_w]);
        }
    }
}

/// Elements of one store; 0: runs pass through shared memory, so that neighbouring threads write neighbouring outputs.
template <int Vector = config::store_vector>
__device__ __forceinline__ void store_outputs(const Outputs& outputs, const Target& target, bool inside,
                                              Element* output) {
    if constexpr (Vector > 0) {
        if (inside) store_runs<Vector>(outputs, target, output);
    } else {
        store_staged(*dynamic_shared<Staged>(), outputs, target, inside, output);
    }
}

__device__ __forceinline__ void transform_products(const float* workspace, const Element* bias, Element* output,
                                                   const Part& part) {
    constexpr i64 entry = problem::out_channels * AxisD::output * AxisH::output * AxisW::output;
    const int rows = part.rows();
    const i64 pitch = row_pitch(rows);
    const i64 number = static_cast<i64>(blockIdx.x) * k_output_threads + threadIdx.x;
    const bool inside = number < rows * (problem::out_channels * phases_dh);
    if (rows == 0) return;
    const Target target = target_at(inside ? number : 0, rows);
    Outputs outputs = {};
    if (inside) add_products(outputs, workspace + products_offset(pitch) + target.row, target, pitch);
    if constexpr (problem::bias) {
        const float added = to_float(load_readonly(bias + target.channel));
#pragma unroll
        for (int i = 0; i < lines * run; ++i)
            outputs[i / run][i % run] += added;
    }
    store_outputs(outputs, target, inside, output + part.first * entry);
}

}  // namespace tconv::winograd
