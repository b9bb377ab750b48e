// Transposed convolution of groups with few channels, in plain fp32 arithmetic: bound by memory, so every input is read
// from it once and every output written once in whole lines.
//
// A thread computes a box of outputs of a group, or of several neighbouring groups in channels-last tensors: all phases
// of some positions along each axis. The inputs that they need fit in registers.
#include "box_load.cuh"
#include "box_store.cuh"
#include "depthwise_weights.cuh"

namespace tconv::depthwise {

using namespace box;

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
        for (int i = 0; i < rows; ++i) {
            window[i].clear();
            load_row(window[i], origin, thread, i / AxisH::window, i % AxisH::window);
        }
    }
}

template <class Weights>
__device__ __forceinline__ void add_window(Sums& sums, Window& window, const Element* origin, const Place& thread,
                                           const Weights& weights) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
        Row& row = window[all_at_once ? i : 0];
        if constexpr (!all_at_once) {
            row.clear();
            load_row(row, origin, thread, i / AxisH::window, i % AxisH::window);
        }
        add_row(sums, row, weights, i / AxisH::window, i % AxisH::window);
    }
}

/// The sums of a tile to the output.
__device__ __forceinline__ void store(const Sums& sums, Element* entry, const Place& tile, const Place& thread,
                                      bool works) {
    if constexpr (staged) {
        Element* shared = dynamic_shared<Element>();
        if constexpr (steps > 1) __syncthreads();
        if (works) stage(sums, shared, entry, tile, thread);
        if constexpr (bulk) bulk_store_fence();
        __syncthreads();
        write_runs(shared, entry, tile);
    } else if (works) {
        Element* first = entry + output_offset(thread);
        if constexpr (channels_last) {
            store_positions(sums, first, thread);
        } else {
            store_rows(sums, first, thread);
        }
    }
}

/// The block's tiles. Those of the next one are loaded before the one at hand is computed.
template <class Weights>
__device__ __forceinline__ void walk(Window& window, Place tile, Place thread, const Block& block, const Element* input,
                                     const Element* bias, Element* output, const Weights& weights) {
    Element* entry = output + static_cast<i64>(block.batch) * (problem::out_channels * static_cast<i64>(output_volume));
#pragma unroll 1
    for (u32 number = block.first_tile;; ++number) {
        const bool more = steps > 1 && number + 1 < block.first_tile + steps && number + 1 < tiles;
        const bool works = has_work(thread);
        Place next_tile{};
        Place next{};
        Window ahead;
        if (more) {
            next_tile = place_of_tile(block, number + 1);
            next = place_of_thread(next_tile);
            if (has_work(next)) load_window(ahead, origin_of(input, next), next);
        }
        Sums sums;
        if (works) {
            begin_sums(sums, bias, thread);
            add_window(sums, window, origin_of(input, thread), thread, weights);
        }
        store(sums, entry, tile, thread, works);
        if (!more) return;
        tile = next_tile;
        thread = next;
        if constexpr (all_at_once) {
#pragma unroll
            for (int i = 0; i < rows; ++i)
                window[i] = ahead[i];
        }
    }
}

}  // namespace tconv::depthwise

extern "C" __global__ void __launch_bounds__(tconv::config::threads, tconv::config::min_blocks)
    tconv_depthwise(const tconv::Element* __restrict__ input, const tconv::Element* __restrict__ weight,
                    const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output) {
    using namespace tconv;
    using namespace tconv::depthwise;
    const Block block = this_block();
    const Place tile = place_of_tile(block, block.first_tile);
    const Place thread = place_of_thread(tile);
    const Element* entry =
        input + static_cast<i64>(block.batch) * (problem::in_channels * static_cast<i64>(input_volume));
    Window window;
    if (has_work(thread)) load_window(window, origin_of(entry, thread), thread);
    if constexpr (channels_last) {
        float* shared = dynamic_shared<float>();
        SharedWeights::stage(shared, weight, block);
        __syncthreads();
        walk(window, tile, thread, block, entry, bias, output, SharedWeights(shared, thread));
    } else {
        walk(window, tile, thread, block, entry, bias, output, PlaneWeights(weight, thread));
    }
}
