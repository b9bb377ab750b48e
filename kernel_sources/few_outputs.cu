// Transposed convolution to few output channels, in plain fp32 arithmetic.
//
// A thread computes a box of outputs of one group and walks over the group's input channels: the next channel's window
// is on its way to registers while the one at hand is multiplied. Weights are read from shared memory, the same by all
// threads. Where the image is small the threads of a block share the channels of a box and add their sums at the end.
#include "box_load.cuh"
#include "box_store.cuh"

namespace tconv::few_outputs {

using namespace box;

constexpr bool ahead = config::ahead != 0;
constexpr int splits = config::splits;

/// Weights in shared memory: [input channel][output channel][tap], taps in whole vectors.
constexpr int taps_pitch = (taps + 3) / 4 * 4;
constexpr int channel_pitch = channels * taps_pitch;

__device__ __forceinline__ void stage_weights(float* shared, const Element* weight, const Place& tile) {
    const i64 first = static_cast<i64>(group_of(tile)) * (in_group * out_group) + tile.plane % group_planes * channels;
    const Element* source = weight + first * taps;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < in_group * channels * taps; i += threads * splits) {
        const int row = i / taps;
        const int tap = i % taps;
        shared[row * taps_pitch + tap] = to_float(
            load_readonly(source + weight_offset<int>(false, row / channels, row % channels, tap, out_group, taps)));
    }
}

/// The window of one input channel. Those of all channels lie alike, so what is outside the tensor is cleared once.
struct Window {
    Row row[rows];

    __device__ __forceinline__ Window() {
#pragma unroll
        for (Row& each : row)
            each.clear();
    }
};

__device__ __forceinline__ void load_window(Window& window, const Element* origin, const Place& thread) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
        load_row(window.row[i], origin, thread, i / AxisH::window, i % AxisH::window);
}

/// An input row against row (kd, kh) of the kernel, for the thread's output row (jd, jh).
__device__ __forceinline__ void add_row(Sums& sums, const Row& row, const float* weights, int jd, int jh,
                                        int kernel_row) {
#pragma unroll
    for (int c = 0; c < channels; ++c) {
#pragma unroll
        for (int k = 0; k < AxisW::kernel; ++k) {
            const int tap = c * taps_pitch + kernel_row * AxisW::kernel + k;
            const float value = load<4>(weights + tap / 4 * 4).v[tap % 4];
#pragma unroll
            for (int number = 0; number < AxisW::window; ++number) {
                const int jw = AxisW::reached(number, k);
                if (jw >= 0) sums[c][jd][jh][jw] = fmaf(row.at(0, number), value, sums[c][jd][jh][jw]);
            }
        }
    }
}

__device__ __forceinline__ void add_channel(Sums& sums, const Window& window, const float* weights) {
#pragma unroll
    for (int kernel_row = 0; kernel_row < AxisD::kernel * AxisH::kernel; ++kernel_row) {
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const int jd = AxisD::reached(i / AxisH::window, kernel_row / AxisH::kernel);
            const int jh = AxisH::reached(i % AxisH::window, kernel_row % AxisH::kernel);
            if (jd >= 0 && jh >= 0) add_row(sums, window.row[i], weights, jd, jh, kernel_row);
        }
    }
}

/// Input channels `first`, `first` + splits, ...
__device__ __forceinline__ void add_channels(Sums& sums, const Element* origin, const Place& thread,
                                             const float* weights, int first) {
    const auto load_channel = [&](Window& window, int channel) {
        if (channel < in_group) load_window(window, origin + static_cast<i64>(channel) * input_volume, thread);
    };
    Window window;
    int channel = first;
    if constexpr (ahead) {
        Window next;
        load_channel(window, channel);
#pragma unroll 1
        while (channel < in_group) {
            load_channel(next, channel + splits);
            add_channel(sums, window, weights + channel * channel_pitch);
            channel += splits;
            if (channel >= in_group) break;
            load_channel(window, channel + splits);
            add_channel(sums, next, weights + channel * channel_pitch);
            channel += splits;
        }
    } else {
#pragma unroll 1
        for (; channel < in_group; channel += splits) {
            load_channel(window, channel);
            add_channel(sums, window, weights + channel * channel_pitch);
        }
    }
}

constexpr int sum_count = channels * AxisD::outputs * AxisH::outputs * AxisW::outputs;

/// Adds the sums of all splits in their order; the first split has the result.
__device__ __forceinline__ void join(Sums& sums, float* shared, int split, int number) {
    float* flat = &sums[0][0][0][0];
    __syncthreads();
    if (split > 0) {
#pragma unroll
        for (int i = 0; i < sum_count; ++i)
            shared[((split - 1) * sum_count + i) * threads + number] = flat[i];
    }
    __syncthreads();
    if (split > 0) return;
#pragma unroll 1
    for (int other = 1; other < splits; ++other) {
#pragma unroll
        for (int i = 0; i < sum_count; ++i)
            flat[i] += shared[((other - 1) * sum_count + i) * threads + number];
    }
}

__device__ __forceinline__ void begin_sums(Sums& sums, const Element* bias, const Place& thread, bool first) {
    float* flat = &sums[0][0][0][0];
#pragma unroll
    for (int c = 0; c < channels; ++c) {
        float value = 0.0f;
        if constexpr (problem::bias) {
            if (first) value = to_float(load_readonly(bias + out_channel_of(thread) + c));
        }
#pragma unroll
        for (int i = 0; i < sum_count / channels; ++i)
            flat[c * (sum_count / channels) + i] = value;
    }
}

}  // namespace tconv::few_outputs

extern "C" __global__ void __launch_bounds__(tconv::config::threads* tconv::config::splits, tconv::config::min_blocks)
    tconv_few_outputs(const tconv::Element* __restrict__ input, const tconv::Element* __restrict__ weight,
                      const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output) {
    using namespace tconv;
    using namespace tconv::few_outputs;
    const Block block = this_block();
    const Place tile = place_of_tile(block, block.first_tile);
    const int split = static_cast<int>(threadIdx.x) / threads;
    const int number = static_cast<int>(threadIdx.x) % threads;
    const Place thread = place_of_thread(tile, static_cast<u32>(number));
    const bool works = has_work(thread);
    float* shared = dynamic_shared<float>();
    stage_weights(shared, weight, tile);
    __syncthreads();

    const i64 input_entry = problem::in_channels * static_cast<i64>(input_volume);
    const i64 output_entry = problem::out_channels * static_cast<i64>(output_volume);
    Sums sums;
    if (works) {
        begin_sums(sums, bias, thread, split == 0);
        add_channels(sums, origin_of(input + block.batch * input_entry, thread), thread, shared, split);
    }
    if constexpr (splits > 1) join(sums, shared, split, number);
    const bool stores = works && split == 0;
    Element* entry = output + block.batch * output_entry;
    if constexpr (staged) {
        auto* staging = reinterpret_cast<Element*>(shared);
        __syncthreads();
        if (stores) stage(sums, staging, entry, tile, thread);
        if constexpr (bulk) bulk_store_fence();
        __syncthreads();
        write_runs(staging, entry, tile);
    } else {
        if (stores) store_rows(sums, entry + output_offset(thread), thread);
    }
}
