// The weights' transform: [matrix][input channel][column].
#pragma once

#include "winograd_shape.cuh"

namespace tconv::winograd {

constexpr int k_transform_threads = 128;

/// Taps of one phase of each axis; those that it lacks are zeros.
template <class D, class H, class W>
__device__ __forceinline__ void load_taps(float (&taps)[D::taps * H::taps * W::taps], const Element* weight,
                                          int in_channel, int channel, int phase_d, int kept_tap, int phase_h,
                                          int phase_w) {
    constexpr i64 kernel = static_cast<i64>(AxisD::kernel) * AxisH::kernel * AxisW::kernel;
#pragma unroll
    for (int d = 0; d < D::taps; ++d) {
#pragma unroll
        for (int h = 0; h < H::taps; ++h) {
#pragma unroll
            for (int w = 0; w < W::taps; ++w) {
                const int k_d = AxisD::first_tap(phase_d) + (kept_tap + d) * AxisD::stride;
                const int k_h = AxisH::first_tap(phase_h) + h * AxisH::stride;
                const int k_w = AxisW::first_tap(phase_w) + w * AxisW::stride;
                const bool inside = k_d < AxisD::kernel && k_h < AxisH::kernel && k_w < AxisW::kernel;
                const i64 tap = (static_cast<i64>(k_d) * AxisH::kernel + k_h) * AxisW::kernel + k_w;
                const i64 offset = weight_offset<i64>(false, in_channel, channel, tap, out_group, kernel);
                taps[(d * H::taps + h) * W::taps + w] = inside ? to_float(load_readonly(weight + offset)) : 0;
            }
        }
    }
}

/// One column of one input channel and kept tap: all its points.
template <class D, class H, class W>
__device__ __forceinline__ void transform_column(const D& of_d, const H& of_h, const W& of_w, const Element* weight,
                                                 float* transformed, i64 number) {
    constexpr int phases = D::phases * H::phases * W::phases;
    const int line = static_cast<int>(number / (out_group * phases));
    const int in_channel = line % problem::in_channels;
    const int kept_tap = line / problem::in_channels;
    if (kept_tap >= AxisD::kept) return;
    const int rest = static_cast<int>(number % (out_group * phases));
    const int phase_d = rest / (H::phases * W::phases) % D::phases;
    const int phase_h = rest / W::phases % H::phases;
    const int phase_w = rest % W::phases;
    float taps[D::taps * H::taps * W::taps];
    load_taps<D, H, W>(taps, weight, in_channel, rest / phases, of_d.phase + phase_d, kept_tap, of_h.phase + phase_h,
                       of_w.phase + phase_w);

    float all[D::points * H::points * W::points];
    apply_to_axes<typename D::Transform::OfTaps, typename H::Transform::OfTaps, typename W::Transform::OfTaps>(taps,
                                                                                                               all);

    const int group = in_channel / in_group;
    const int column = column_of(rest / phases, phase_d, phase_h, phase_w);
    float* target = transformed + column +
                    weight_line(matrix_of(group, of_d.point, of_h.point, of_w.point), kept_tap, in_channel % in_group);
    store_points<D, H, W>(all, target, [](int later) { return weight_line(later, 0, 0); });
}

__device__ __forceinline__ void transform_weights(const Element* weight, float* transformed) {
    const i64 number = static_cast<i64>(blockIdx.x) * k_transform_threads + threadIdx.x;
    with_classes(static_cast<int>(blockIdx.y),
                 [&](auto d, auto h, auto w) { transform_column(d, h, w, weight, transformed, number); });
}

}  // namespace tconv::winograd
