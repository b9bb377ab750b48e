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

/// Adds what the products of the phases of class W are in the outputs.
template <class D, class H, class W>
__device__ __forceinline__ void add_class(Outputs& outputs, const float* products, int group, int channel, int phase_d,
                                          int phase_h, i64 pitch) {
    using OfDepth = typename D::Transform::OfOutputs;
#pragma unroll
    for (int phase = 0; phase < W::phases; ++phase) {
        const int column = column_of(channel, phase_d - D::phase, phase_h - H::phase, phase);
        toom_cook::for_each_number<D::points>([&](auto point) {
            constexpr int p = decltype(point)::value;
            const int matrix = matrix_of(group, D::point + p, H::point, W::point);
            float plane[H::points * W::points];
            load_plane<H, W>(plane, products + product_line(matrix, column, pitch), pitch);
            float by_w[H::points * AxisW::tile];
            apply<typename W::Transform::OfOutputs, H::points, 1>(plane, by_w);
            float by_h[AxisH::tile * AxisW::tile];
            apply<typename H::Transform::OfOutputs, 1, AxisW::tile>(by_w, by_h);
            toom_cook::for_each_number<AxisD::tile>([&](auto position) {
                constexpr int d = decltype(position)::value;
                constexpr float factor = OfDepth::template at<d, p>;
                if constexpr (factor != 0) {
#pragma unroll
                    for (int i = 0; i < AxisH::tile * AxisW::tile; ++i) {
                        float& sum = outputs[d * AxisH::tile + i / AxisW::tile]
                                            [i % AxisW::tile * AxisW::stride + W::phase + phase];
                        sum = toom_cook::add_product<false>(sum, factor, by_h[i]);
                    }
                }
            });
        });
    }
}

/// Which outputs a thread has.
struct Place {
    i64 row;
    Row tile;
    int channel;  // of all groups
    int phase_d, phase_h;
};
constexpr int phases_dh = AxisD::stride * AxisH::stride;
__device__ __forceinline__ Place place_at(i64 number, i64 rows) {
    const i64 row = number % rows;
    const int rest = static_cast<int>(number / rows);
    return {row, row_at(row), rest / phases_dh, rest % phases_dh / AxisH::stride, rest % AxisH::stride};
}

__device__ __forceinline__ void add_products(Outputs& outputs, const float* products, const Place& place, i64 pitch) {
    const int group = place.channel / out_group;
    const int channel = place.channel % out_group;
    const bool second_d = place.phase_d >= AxisD::split;
    const bool second_h = place.phase_h >= AxisH::split;
    const int number = ((second_d ? AxisH::classes : 0) + (second_h ? 1 : 0)) * AxisW::classes;
    toom_cook::for_each_number<AxisW::classes>([&](auto of_width) {
        constexpr int w = decltype(of_width)::value;
        with_classes(number + w, [&](auto d, auto h, auto own) {
            if constexpr (decltype(own)::phase == AxisW::template Class<w>::phase)
                add_class<decltype(d), decltype(h), decltype(own)>(outputs, products, group, channel, place.phase_d,
                                                                   place.phase_h, pitch);
        });
    });
}

/// Output of the tile's position (d, h) along the depth and the height, at the run's first place; false outside.
__device__ __forceinline__ bool find_line(i64& offset, const Place& place, int d, int h) {
    const int o_d = (place.tile.d * AxisD::tile + d) * AxisD::stride + place.phase_d - AxisD::lead;
    const int o_h = (place.tile.h * AxisH::tile + h) * AxisH::stride + place.phase_h - AxisH::lead;
    const int o_w = place.tile.w * run - AxisW::lead;
    const i64 line = place.tile.entry * problem::out_channels + place.channel;
    offset = ((line * AxisD::output + o_d) * AxisH::output + o_h) * AxisW::output + o_w;
    return o_d >= 0 && o_d < AxisD::output && o_h >= 0 && o_h < AxisH::output;
}

/// Runs begin at a multiple of `Vector` elements.
template <int Vector>
__device__ __forceinline__ void store_runs(const Outputs& outputs, const Place& place, Element* output) {
#pragma unroll
    for (int line = 0; line < lines; ++line) {
        i64 offset = 0;
        if (!find_line(offset, place, line / AxisH::tile, line % AxisH::tile)) continue;
#pragma unroll
        for (int i = 0; i < run; i += Vector) {
            if (place.tile.w * run + i < AxisW::output) store_vector<Vector>(output + offset + i, &outputs[line][i]);
        }
    }
}

/// One line of every thread's tile at a time.
struct Staged {
    float values[k_output_threads][run + 1];
    i64 offset[k_output_threads];
    int begin[k_output_threads];  // first output along the width; those outside are not stored
};

__device__ __forceinline__ void store_staged(Staged& staged, const Outputs& outputs, const Place& place, bool inside,
                                             Element* output) {
    const int own = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int line = 0; line < lines; ++line) {
        i64 offset = 0;
        const bool found = inside && find_line(offset, place, line / AxisH::tile, line % AxisH::tile);
        __syncthreads();
        staged.offset[own] = offset;
        staged.begin[own] = found ? place.tile.w * run - AxisW::lead : AxisW::output;
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
__device__ __forceinline__ void store_outputs(const Outputs& outputs, const Place& place, bool inside,
                                              Element* output) {
    if constexpr (Vector > 0) {
        if (inside) store_runs<Vector>(outputs, place, output);
    } else {
        store_staged(*dynamic_shared<Staged>(), outputs, place, inside, output);
    }
}

__device__ __forceinline__ void transform_products(const float* workspace, const Element* bias, Element* output,
                                                   const Part& part) {
    constexpr i64 entry = problem::out_channels * AxisD::output * AxisH::output * AxisW::output;
    const i64 rows = part.rows();
    const i64 pitch = row_pitch(rows);
    const i64 number = static_cast<i64>(blockIdx.x) * k_output_threads + threadIdx.x;
    const bool inside = number < rows * (problem::out_channels * phases_dh);
    if (rows == 0) return;
    const Place place = place_at(inside ? number : 0, rows);
    Outputs outputs = {};
    if (inside) add_products(outputs, workspace + products_offset(pitch) + place.row, place, pitch);
    if constexpr (problem::bias) {
        const float added = to_float(load_readonly(bias + place.channel));
#pragma unroll
        for (int i = 0; i < lines * run; ++i)
            outputs[i / run][i % run] += added;
    }
    store_outputs(outputs, place, inside, output + part.first * entry);
}

}  // namespace tconv::winograd
