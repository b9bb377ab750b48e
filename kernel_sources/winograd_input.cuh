// The input's transform: [matrix][channel][row].
#pragma once

#include "winograd_weights.cuh"

namespace tconv::winograd {

/// The window that a class of a row's tile reads of one channel; zeros outside the image.
template <class D, class H, class W>
__device__ __forceinline__ void load_window(float (&window)[D::points * H::points * W::points], const Element* input,
                                            const Row& row, int channel, int first_d, int first_h, int first_w) {
    const i64 line = row.entry * problem::in_channels + channel;
    const Element* source = input + ((line * AxisD::input + first_d) * AxisH::input + first_h) * AxisW::input + first_w;
#pragma unroll
    for (int d = 0; d < D::points; ++d) {
        const bool inside_d = first_d + d >= 0 && first_d + d < AxisD::input;
#pragma unroll
        for (int h = 0; h < H::points; ++h) {
            const bool inside_h = inside_d && first_h + h >= 0 && first_h + h < AxisH::input;
#pragma unroll
            for (int w = 0; w < W::points; ++w) {
                const bool inside = inside_h && first_w + w >= 0 && first_w + w < AxisW::input;
                const i64 offset = (static_cast<i64>(d) * AxisH::input + h) * AxisW::input + w;
                window[(d * H::points + h) * W::points + w] = inside ? to_float(load_readonly(source + offset)) : 0;
            }
        }
    }
}

template <class D, class H, class W>
__device__ __forceinline__ void transform_tile(const D& of_d, const H& of_h, const W& of_w, const Element* input,
                                               float* transformed, const Place& place, i64 pitch) {
    const int channel = place.line;
    const Row row = row_at(place.row);
    float window[D::points * H::points * W::points];
    load_window<D, H, W>(window, input, row, channel, of_d.first_window + row.d * AxisD::tile,
                         of_h.first_window + row.h * AxisH::tile, of_w.first_window + row.w * AxisW::tile);
    float all[D::points * H::points * W::points];
    apply_to_axes<typename D::Transform::OfInputs, typename H::Transform::OfInputs, typename W::Transform::OfInputs>(
        window, all);

    const int matrix = matrix_of(channel / in_group, of_d.point, of_h.point, of_w.point);
    float* target = transformed + input_line(matrix, channel % in_group, pitch) + place.row;
    store_points<D, H, W>(all, target, [&](int later) { return input_line(later, 0, pitch); });
}

/// A row of a channel a thread: neighbours are neighbouring rows.
__device__ __forceinline__ void transform_input(const Element* input, float* transformed, const Part& part) {
    const int rows = part.rows();
    const i64 number = static_cast<i64>(blockIdx.x) * k_transform_threads + threadIdx.x;
    if (number >= rows * problem::in_channels) return;
    const Place place = place_of(number, rows);
    const Element* source = input + part.first * problem::in_channels * AxisD::input * AxisH::input * AxisW::input;
    with_classes(static_cast<int>(blockIdx.y),
                 [&](auto d, auto h, auto w) { transform_tile(d, h, w, source, transformed, place, row_pitch(rows)); });
}

}  // namespace tconv::winograd
