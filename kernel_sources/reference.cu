// Reference transposed convolution: one thread an output, float64 accumulation, any parameters at run time. Written
// from the definition of the operation (which inputs scatter onto this output?), not from the phases that the fast
// kernels use.
#include "tconv.cuh"

namespace tconv::reference {

/// The problem without its batch; the order is that of reference_shape() on the host.
struct Shape {
    i64 in_channels, out_channels, groups;
    i64 input[3], output[3], kernel[3], stride[3], padding[3], dilation[3];
    i64 channels_last;
};

/// Element strides of a tensor with `channels` channels and extents `size`.
struct Strides {
    i64 batch, channel, axis[3];
};

__device__ __forceinline__ Strides strides_of(i64 channels, const i64 (&size)[3], bool channels_last) {
    const i64 volume = size[0] * size[1] * size[2];
    const i64 unit = channels_last ? channels : 1;
    return {channels * volume, channels_last ? 1 : volume, {size[1] * size[2] * unit, size[2] * unit, unit}};
}

struct Output {
    i64 batch, channel, position[3];
};

/// Splits a flat index of the output, in its memory order.
__device__ __forceinline__ Output output_of(i64 index, const Shape& s) {
    Output o{};
    i64 rest = index;
    if (s.channels_last) {
        o.channel = rest % s.out_channels;
        rest /= s.out_channels;
    }
    for (int axis = 2; axis >= 0; --axis) {
        o.position[axis] = rest % s.output[axis];
        rest /= s.output[axis];
    }
    if (!s.channels_last) {
        o.channel = rest % s.out_channels;
        rest /= s.out_channels;
    }
    o.batch = rest;
    return o;
}

/// Input position that tap k scatters onto output position o of an axis, or -1 where there is none.
__device__ __forceinline__ i64 source_of(i64 o, i64 k, int axis, const Shape& s) {
    const i64 scattered = o + s.padding[axis] - k * s.dilation[axis];
    if (scattered < 0 || scattered % s.stride[axis] != 0) return -1;
    const i64 i = scattered / s.stride[axis];
    return i < s.input[axis] ? i : -1;
}

/// The sum over inputs and taps, and the sum of the squared products.
struct Sums {
    double value, squares;
};

template <class T>
__device__ __forceinline__ Sums sums_of(const T* input, const T* weight, const Output& o, const Shape& s) {
    const i64 in_group = s.in_channels / s.groups;
    const i64 out_group = s.out_channels / s.groups;
    const i64 group = o.channel / out_group;
    const i64 kernel_volume = s.kernel[0] * s.kernel[1] * s.kernel[2];
    const Strides in = strides_of(s.in_channels, s.input, s.channels_last != 0);
    Sums sums{0, 0};
    for (i64 k_d = 0; k_d < s.kernel[0]; ++k_d) {
        const i64 i_d = source_of(o.position[0], k_d, 0, s);
        if (i_d < 0) continue;
        for (i64 k_h = 0; k_h < s.kernel[1]; ++k_h) {
            const i64 i_h = source_of(o.position[1], k_h, 1, s);
            if (i_h < 0) continue;
            for (i64 k_w = 0; k_w < s.kernel[2]; ++k_w) {
                const i64 i_w = source_of(o.position[2], k_w, 2, s);
                if (i_w < 0) continue;
                const T* x = input + o.batch * in.batch + group * in_group * in.channel + i_d * in.axis[0] +
                             i_h * in.axis[1] + i_w * in.axis[2];
                const T* w = weight + weight_offset<i64>(s.channels_last != 0, group * in_group, o.channel % out_group,
                                                         (k_d * s.kernel[1] + k_h) * s.kernel[2] + k_w, out_group,
                                                         kernel_volume);
                for (i64 c = 0; c < in_group; ++c) {
                    const double product = to_double(x[c * in.channel]) * to_double(w[c * out_group * kernel_volume]);
                    sums.value += product;
                    sums.squares = fma(product, product, sums.squares);
                }
            }
        }
    }
    return sums;
}

__device__ __forceinline__ i64 output_count(const Shape& s, int batch) {
    return batch * s.out_channels * s.output[0] * s.output[1] * s.output[2];
}

__device__ __forceinline__ i64 thread_index() {
    return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ i64 thread_count() {
    return static_cast<i64>(gridDim.x) * blockDim.x;
}

template <class T>
__device__ void run(const T* input, const T* weight, const T* bias, T* output, const Shape& s, int batch) {
    const i64 count = output_count(s, batch);
    for (i64 index = thread_index(); index < count; index += thread_count()) {
        const Output o = output_of(index, s);
        const Sums sums = sums_of(input, weight, o, s);
        const double offset = bias == nullptr ? 0.0 : to_double(bias[o.channel]);
        output[index] = from_double<T>(sums.value + offset);
    }
}

template <class T>
__device__ void run_scaled(const T* input, const T* weight, const T* bias, double* reference, float* scale,
                           const Shape& s, int batch) {
    const i64 count = output_count(s, batch);
    for (i64 index = thread_index(); index < count; index += thread_count()) {
        const Output o = output_of(index, s);
        const Sums sums = sums_of(input, weight, o, s);
        const double offset = bias == nullptr ? 0.0 : to_double(bias[o.channel]);
        reference[index] = sums.value + offset;
        scale[index] = static_cast<float>(sqrt(sums.squares + offset * offset));
    }
}

}  // namespace tconv::reference

using tconv::reference::Shape;

extern "C" __global__ void tconv_reference_f32(const float* input, const float* weight, const float* bias,
                                               float* output, Shape shape, int batch) {
    tconv::reference::run(input, weight, bias, output, shape, batch);
}

extern "C" __global__ void tconv_reference_f16(const tconv::f16* input, const tconv::f16* weight,
                                               const tconv::f16* bias, tconv::f16* output, Shape shape, int batch) {
    tconv::reference::run(input, weight, bias, output, shape, batch);
}

extern "C" __global__ void tconv_reference_bf16(const tconv::bf16* input, const tconv::bf16* weight,
                                                const tconv::bf16* bias, tconv::bf16* output, Shape shape, int batch) {
    tconv::reference::run(input, weight, bias, output, shape, batch);
}

extern "C" __global__ void tconv_reference_scaled_f32(const float* input, const float* weight, const float* bias,
                                                      double* reference, float* scale, Shape shape, int batch) {
    tconv::reference::run_scaled(input, weight, bias, reference, scale, shape, batch);
}

extern "C" __global__ void tconv_reference_scaled_f16(const tconv::f16* input, const tconv::f16* weight,
                                                      const tconv::f16* bias, double* reference, float* scale,
                                                      Shape shape, int batch) {
    tconv::reference::run_scaled(input, weight, bias, reference, scale, shape, batch);
}

extern "C" __global__ void tconv_reference_scaled_bf16(const tconv::bf16* input, const tconv::bf16* weight,
                                                       const tconv::bf16* bias, double* reference, float* scale,
                                                       Shape shape, int batch) {
    tconv::reference::run_scaled(input, weight, bias, reference, scale, shape, batch);
}
