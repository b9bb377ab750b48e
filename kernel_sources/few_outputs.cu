// Transposed convolution to few output channels, in plain fp32 arithmetic on tensors of every type and layout.
//
// A thread computes a box of outputs of one group and walks over the group's input channels: the next channel's window
// is on its way to registers while the one at hand is multiplied. In channels-last tensors a window is rows of a
// vector of channels, one row after the other. Weights are read from shared memory, the same by all
// threads. Where the image is small the threads of a block share the channels of a box and add their sums at the end.
#include "box_store.cuh"
#include "few_outputs_filter.cuh"

namespace tconv::few_outputs {

using namespace box;

constexpr bool ahead = config::ahead == 1;
/// Row by row: as soon as one is multiplied the next chunk's takes its registers.
constexpr bool rolling = config::ahead == 2;
constexpr int splits = config::splits;

/// Channels of a window, which are multiplied together.
constexpr int chunks = in_group / in_span;
constexpr i64 chunk_pitch = channels_last ? in_span : static_cast<i64>(input_volume);

/// Weights in shared memory: [input channel][output channel][tap], taps in whole vectors.
constexpr int taps_pitch = (staged_taps + 3) / 4 * 4;
constexpr int channel_pitch = channels * taps_pitch;

__device__ __forceinline__ void stage_weights(float* shared, const Element* weight, const Place& tile) {
    const i64 group = static_cast<i64>(group_of(tile)) * (in_group * out_group) * taps;
    const int first = static_cast<int>(tile.plane % group_planes) * channels;
    constexpr int parts = filtered ? taps / 2 : taps;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < in_group * channels * parts; i += threads * splits) {
        // In the order of the tensor.
        const int in = i / (channels * parts);
        const int part = channels_last ? i / channels % parts : i % parts;
        const int out = channels_last ? i % channels : i / parts % channels;
        const auto value = [&](int tap) {
            return to_float(load_readonly(
                weight + group + weight_offset<int>(channels_last, in, first + out, tap, out_group, taps)));
        };
        float* staged_weights = shared + (in * channel_pitch + out * taps_pitch);
        if constexpr (filtered) {
            const TapPair pair(part);
            pair.store(staged_weights, value(pair.a), value(pair.b));
        } else {
            staged_weights[part] = value(part);
        }
    }
}

/// The window of a chunk. Those of all chunks lie alike, so what is outside the tensor is cleared once.
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

/// Channel `in` of an input row, or of a difference, against a row of the staged kernel, for row (jd, jh) of the sums.
template <class Values>
__device__ __forceinline__ void add_row(Products& sums, const Values& row, int in, const float* weights, int jd, int jh,
                                        int kernel_row) {
#pragma unroll
    for (int c = 0; c < channels; ++c) {
#pragma unroll
        for (int k = 0; k < AxisW::kernel; ++k) {
            const int tap = in * channel_pitch + c * taps_pitch + kernel_row * AxisW::kernel + k;
            const float value = load<4>(weights + tap / 4 * 4).v[tap % 4];
#pragma unroll
            for (int number = 0; number < AxisW::window; ++number) {
                const int jw = AxisW::reached(number, k);
                if (jw >= 0) sums[c][jd][jh][jw] = fmaf(row.at(in, number), value, sums[c][jd][jh][jw]);
            }
        }
    }
}

/// Input row `i` of the window against row `kernel_row` of the kernel.
__device__ __forceinline__ void add_row_pair(Products& sums, const Row& row, int in, const float* weights, int i,
                                             int kernel_row) {
    const int jd = AxisD::reached(i / AxisH::window, kernel_row / AxisH::kernel);
    const int jh = AxisH::reached(i % AxisH::window, kernel_row % AxisH::kernel);
    if (jd >= 0 && jh >= 0) add_row(sums, row, in, weights, jd, jh, kernel_row);
}

constexpr int kernel_rows = AxisD::kernel * AxisH::kernel;

/// Input row `i` of the window against all rows of the kernel that bring it to the thread's outputs.
__device__ __forceinline__ void add_input_row(Products& sums, const Row& row, const float* weights, int i) {
#pragma unroll
    for (int in = 0; in < in_span; ++in) {
#pragma unroll
        for (int kernel_row = 0; kernel_row < kernel_rows; ++kernel_row)
            add_row_pair(sums, row, in, weights, i, kernel_row);
    }
}

/// Product `product` of a pair, to which plane `id` of the window brings `values`.
template <class Values>
__device__ __forceinline__ void add_product(Products& sums, const Values& values, const float* weights, int id,
                                            int pair, int product) {
#pragma unroll
    for (int in = 0; in < in_span; ++in) {
#pragma unroll
        for (int kd = 0; kd < AxisD::kernel; ++kd) {
            const int jd = AxisD::reached(id, kd);
            if (jd < 0) continue;
#pragma unroll
            for (int phase = 0; phase < phases_h; ++phase) {
                const int row = product * phases_h + phase;
                add_row(sums, values, in, weights, jd, pair * (pair_products * phases_h) + row,
                        kd * staged_kernel_h + row);
            }
        }
    }
}

/// The products of a pair of positions. Calls `done(i)` as soon as row `i` of the window is needed no more.
template <class Done>
__device__ __forceinline__ void add_pair(Products& sums, const Window& window, const float* weights, int id, int pair,
                                         const Done& done) {
    const int first = id * AxisH::window + 2 * pair;
    const Row& middle = window.row[first + 1];
    const Difference before(window.row[first], middle);
    done(first);
    add_product(sums, before, weights, id, pair, 0);
    add_product(sums, middle, weights, id, pair, 1);
    const Difference after(middle, window.row[first + 2]);
    done(first + 1);
    if (pair == pairs - 1) done(first + 2);
    add_product(sums, after, weights, id, pair, 2);
}

/// Row by row: only those at hand need be in registers. Calls `done` as add_pair does.
template <class Done>
__device__ __forceinline__ void add_rows(Products& sums, const Window& window, const float* weights, const Done& done) {
    if constexpr (filtered) {
#pragma unroll
        for (int id = 0; id < AxisD::window; ++id) {
#pragma unroll
            for (int pair = 0; pair < pairs; ++pair)
                add_pair(sums, window, weights, id, pair, done);
        }
    } else {
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            add_input_row(sums, window.row[i], weights, i);
            done(i);
        }
    }
}

__device__ __forceinline__ void add_window(Products& sums, const Window& window, const float* weights) {
    if constexpr (channels_last || filtered) {
        add_rows(sums, window, weights, [](int) {});
    } else {
#pragma unroll
        for (int kernel_row = 0; kernel_row < kernel_rows; ++kernel_row) {
#pragma unroll
            for (int i = 0; i < rows; ++i)
                add_row_pair(sums, window.row[i], 0, weights, i, kernel_row);
        }
    }
}

/// Chunks `first`, `first` + splits, ... of the input channels.
__device__ __forceinline__ void add_chunks(Products& sums, const Element* origin, const Place& thread,
                                           const float* weights, int first) {
    const auto load_chunk = [&](Window& window, int chunk) {
        if (chunk < chunks) load_window(window, origin + chunk * chunk_pitch, thread);
    };
    const auto add_chunk = [&](const Window& window, int chunk) {
        add_window(sums, window, weights + chunk * (in_span * channel_pitch));
    };
    Window window;
    int chunk = first;
    if constexpr (ahead) {
        Window next;
        load_chunk(window, chunk);
#pragma unroll 1
        while (chunk < chunks) {
            load_chunk(next, chunk + splits);
            add_chunk(window, chunk);
            chunk += splits;
            if (chunk >= chunks) break;
            load_chunk(window, chunk + splits);
            add_chunk(next, chunk);
            chunk += splits;
        }
    } else if constexpr (rolling) {
        load_chunk(window, chunk);
#pragma unroll 1
        for (; chunk < chunks; chunk += splits) {
            // Behind the last chunk it is loaded once more.
            const Element* next = origin + (chunk + splits < chunks ? chunk + splits : chunk) * chunk_pitch;
            add_rows(sums, window, weights + chunk * (in_span * channel_pitch), [&](int i) {
                load_row(window.row[i], next, thread, i / AxisH::window, i % AxisH::window);
            });
        }
    } else {
#pragma unroll 1
        for (; chunk < chunks; chunk += splits) {
            load_chunk(window, chunk);
            add_chunk(window, chunk);
        }
    }
}

constexpr int sum_count = channels * AxisD::outputs * sum_rows * AxisW::outputs;

/// Adds the sums of all splits in their order; the first split has the result.
__device__ __forceinline__ void join(Products& sums, float* shared, int split, int number) {
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

__device__ __forceinline__ void begin_sums(Products& sums, const Element* bias, const Place& thread, bool first) {
    float* flat = &sums[0][0][0][0];
#pragma unroll
    for (int c = 0; c < channels; ++c) {
        float value = 0.0f;
        if constexpr (problem::bias) {
            if (first) value = to_float(load_readonly(bias + out_channel_of(thread) + c));
        }
#pragma unroll
        for (int i = 0; i < sum_count / channels; ++i)
            flat[c * (sum_count / channels) + i] = begins_with_bias(i / AxisW::outputs % sum_rows) ? value : 0.0f;
    }
}

/// No change, which the assembler cannot know: sums that are stored in vectors would else lie in neighbouring registers
/// all along, where a third more of the multiplications read two registers of one bank.
__device__ __forceinline__ void loosen(Sums& sums) {
    float* flat = &sums[0][0][0][0];
#pragma unroll
    for (int i = 0; i < sum_count; ++i)
        flat[i] = __uint_as_float(__float_as_uint(flat[i]) ^ blockIdx.y);
}

/// All threads of the block together; those of the first split that have outputs store them.
__device__ __forceinline__ void write_outputs(Sums& sums, float* shared, Element* entry, const Place& tile,
                                              const Place& thread, bool stores) {
    if constexpr (staged) {
        auto* staging = reinterpret_cast<Element*>(shared);
        __syncthreads();
        if (stores) stage(sums, staging, entry, tile, thread);
        if constexpr (bulk) bulk_store_fence();
        __syncthreads();
        write_runs(staging, entry, tile);
    } else {
        Element* first = entry + output_offset(thread);
        if (stores) {
            if constexpr (store_width > 1) loosen(sums);
            if constexpr (!channels_last) {
                store_rows(sums, first, thread);
            } else if constexpr (channels == problem::out_channels) {
                store_lines(sums, first, thread);
            } else {
                store_positions(sums, first, thread);
            }
        }
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
    Products sums;
    if (works) {
        begin_sums(sums, bias, thread, split == 0);
        add_chunks(sums, origin_of(input + block.batch * input_entry, thread), thread, shared, split);
    }
    if constexpr (splits > 1) join(sums, shared, split, number);
    const bool stores = works && split == 0;
    Element* entry = output + block.batch * output_entry;
    with_outputs(sums, stores, [&](Sums& outputs) { write_outputs(outputs, shared, entry, tile, thread, stores); });
}
