// Transposed convolution of groups with few channels, in plain fp32 arithmetic: bound by memory, so every input is read
// from it once and every output written once in whole lines.
//
// A thread computes a box of outputs of a group, or of several neighbouring groups in channels-last tensors: all phases
// of some positions along each axis. The inputs that they need fit in registers.
#include "depthwise_load.cuh"
#include "depthwise_store.cuh"

namespace tconv::depthwise {

constexpr bool staged = config::staged_store != 0;

__device__ __forceinline__ void begin_sums(Sums& sums, const Element* bias, const Place& thread) {
#pragma unroll
    for (int c = 0; c < out_span; ++c) {
        float value = 0.0f;
        if constexpr (problem::bias) value = to_float(load_readonly(bias + out_channel_of(thread) + c));
#pragma unroll
        for (int jd = 0; jd < AxisD::outputs; ++jd) {
#pragma unroll
            for (int jh = 0; jh < AxisH::outputs; ++jh) {
#pragma unroll
                for (int jw = 0; jw < AxisW::outputs; ++jw)
                    sums[c][jd][jh][jw] = value;
            }
        }
    }
}

/// An input row against the taps along the width of row (kd, kh) of the kernel, for the thread's output row (jd, jh).
template <class Weights>
__device__ __forceinline__ void add_taps(Sums& sums, const Row& row, const Weights& weights, int jd, int jh, int kd,
                                         int kh) {
#pragma unroll
    for (int k = 0; k < AxisW::kernel; ++k) {
        const TapWeights tap = weights((kd * AxisH::kernel + kh) * AxisW::kernel + k);
#pragma unroll
        for (int number = 0; number < AxisW::window; ++number) {
            const int jw = AxisW::reached(number, k);
            if (jw < 0) continue;
#pragma unroll
            for (int product = 0; product < products; ++product) {
                const int in = product / channels;
                float& sum = sums[in / in_group * channels + product % channels][jd][jh][jw];
                sum = fmaf(row.at(in, number), tap.values[product], sum);
            }
        }
    }
}

/// An input row against all taps that bring it to the thread's outputs.
template <class Weights>
__device__ __forceinline__ void add_row(Sums& sums, const Row& row, const Weights& weights, int id, int ih) {
#pragma unroll
    for (int jd = 0; jd < AxisD::outputs; ++jd) {
        const int kd = AxisD::tap(jd, id);
        if (kd < 0) continue;
#pragma unroll
        for (int jh = 0; jh < AxisH::outputs; ++jh) {
            const int kh = AxisH::tap(jh, ih);
            if (kh >= 0) add_taps(sums, row, weights, jd, jh, kd, kh);
        }
    }
}

/// The window: all rows, or the one at hand.
using Window = Row[all_at_once ? rows : 1];

__device__ __forceinline__ void load_window(Window& window, const Element* origin, const Place& thread) {
    if constexpr (all_at_once) {
#pragma unroll
        for (int i = 0; i < rows; ++i)
            load_row(window[i], origin, thread, i / AxisH::window, i % AxisH::window);
    }
}

template <class Weights>
__device__ __forceinline__ void add_window(Sums& sums, Window& window, const Element* origin, const Place& thread,
                                           const Weights& weights) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
        Row& row = window[all_at_once ? i : 0];
        if constexpr (!all_at_once) load_row(row, origin, thread, i / AxisH::window, i % AxisH::window);
        add_row(sums, row, weights, i / AxisH::window, i % AxisH::window);
    }
}

}  // namespace tconv::depthwise

extern "C" __global__ void __launch_bounds__(tconv::config::threads, tconv::config::min_blocks)
    tconv_depthwise(const tconv::Element* __restrict__ input, const tconv::Element* __restrict__ weight,
                    const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output) {
    using namespace tconv;
    using namespace tconv::depthwise;
    const Place block = place_of_block();
    const Place thread = place_of_thread(block);
    const bool works = has_work(thread);
    Element* entry = entry_of(output, block.batch);
    const Element* origin = origin_of(input, thread);
    Window window;
    Sums sums;
    if constexpr (channels_last) {
        if (works) load_window(window, origin, thread);
        float* shared = dynamic_shared<float>();
        SharedWeights::stage(shared, weight, block);
        __syncthreads();
        if (!works) return;
        begin_sums(sums, bias, thread);
        add_window(sums, window, origin, thread, SharedWeights(shared, thread));
        store_positions(sums, entry + output_offset(thread), thread);
    } else {
        if constexpr (!staged) {
            if (!works) return;
        }
        Element* shared = dynamic_shared<Element>();
        if (works) {
            load_window(window, origin, thread);
            begin_sums(sums, bias, thread);
            add_window(sums, window, origin, thread, PlaneWeights(weight, thread));
            if constexpr (staged) {
                stage(sums, shared, entry, block, thread);
            } else {
                store_rows(sums, entry + output_offset(thread), thread);
            }
        }
        if constexpr (staged) {
            __syncthreads();
            write_runs(shared, entry, block);
        }
    }
}
