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

template <class Values>
__device__ __forceinline__ void add_value(Products& sums, const Values& row, int number, int in, const float* weights, int jd, int jh,
                                        int kernel_row) {
#pragma unroll
    for (int c = 0; c < channels; ++c) {
#pragma unroll
        for (int k = 0; k < AxisW::kernel; ++k) {
            const int tap = in * channel_pitch + c * taps_pitch + kernel_row * AxisW::kernel + k;
            const float value = load<4>(weights + tap / 4 * 4).v[tap % 4];
            const int jw = AxisW::reached(number, k);
            if (jw >= 0) sums[c][jd][jh][jw] = fmaf(row.at(in, number), value, sums[c][jd][jh][jw]);
        }
    }
}
/// Product `product` of a pair, to which plane `id` of the window brings `values`.
template <class Values>
__device__ __forceinline__ void add_product(Products& sums, const Values& values, const float* weights, int id,
                                            int pair, int product) {
#pragma unroll
    for (int in = 0; in < in_span; ++in) {
#pragma unroll
        for (int number = 0; number < AxisW::window; ++number) {
#pragma unroll
            for (int kd = 0; kd < AxisD::kernel; ++kd) {
                const int jd = AxisD::reached(id, kd);
                if (jd < 0) continue;
#pragma unroll
                for (int phase = 0; phase < phases_h; ++phase) {
                    const int row = product * phases_h + phase;
                    add_value(sums, values, number, in, weights, jd, pair * (pair_products * phases_h) + row,
                              kd * staged_kernel_h + row);
                }
            }
        }
    }
}

/// Plane `id` of the window, of whose pairs the middle rows lie apart from the others. Calls `done(i)` as soon as one of
/// the others is needed no more.
template <class Done>
__device__ __forceinline__ void add_plane(Products& sums, const Row (&outer)[pairs + 1], const Row (&middle)[pairs],
                                          const float* weights, int id, const Done& done) {
#pragma unroll
    for (int pair = 0; pair < pairs; ++pair) {
        add_product(sums, Difference(outer[pair], middle[pair]), weights, id, pair, 0);
        done(pair);
        add_product(sums, Difference(middle[pair], outer[pair + 1]), weights, id, pair, 2);
        if (pair == pairs - 1) done(pairs);
        add_product(sums, middle[pair], weights, id, pair, 1);
    }
}

__device__ __forceinline__ void add_window(Products& sums, const Window& window, const float* weights) {
    if constexpr (filtered) {
#pragma unroll
        for (int id = 0; id < AxisD::window; ++id)
            (void)id;
    } else if constexpr (channels_last) {
        // Row by row: only those at hand are in registers.
#pragma unroll
        for (int i = 0; i < rows; ++i)
            add_input_row(sums, window.row[i], weights, i);
    } else {
#pragma unroll
        for (int kernel_row = 0; kernel_row < kernel_rows; ++kernel_row) {
#pragma unroll
            for (int i = 0; i < rows; ++i)
                add_row_pair(sums, window.row[i], 0, weights, i, kernel_row);
        }
    }
}

/// Row `i` of a plane that lies inside the tensor.
__device__ __forceinline__ void load_plane_row(Row& row, const Element* source, const Place& thread, int i) {
    const Index line = i * AxisW::input;
    row.load({source + line * (channels_last ? static_cast<Index>(problem::in_channels) : 1), thread.w,
              AxisH::holds(thread.h, i)});
}

/// Taps of the staged kernel that one plane of the window meets.
constexpr int plane_taps = staged_taps / AxisD::window;

__device__ __forceinline__ void add_planes(Products& sums, const Element* origin, const Place& thread,
                                           const float* weights, int first) {
    constexpr Index row_pitch = AxisW::input * (channels_last ? static_cast<Index>(problem::in_channels) : 1);
    constexpr Index plane_pitch = AxisH::input * row_pitch;
    constexpr int chunk_taps = in_span * channel_pitch;
    const bool has_front = AxisD::window == 1 || AxisD::holds(thread.d, 0);
    const bool has_back = AxisD::window == 1 || AxisD::holds(thread.d, 1);
    const bool both = AxisD::window == 2 && has_front && has_back;
    int left = has_front || has_back ? (chunks - first + splits - 1) / splits * (both ? 2 : 1) : 0;
    if (left == 0) return;
    const Element* source = origin + first * chunk_pitch + (has_front ? 0 : plane_pitch);
    constexpr auto turn = static_cast<Index>(splits * chunk_pitch);
    const Index pitch = both ? plane_pitch : turn;
    const Index back_pitch = both ? turn - plane_pitch : turn;
    int place = (first * chunk_taps + (has_front ? AxisD::window - 1 : 0) * plane_taps) / 4;
    const int taps_step = (both ? -plane_taps : splits * chunk_taps) / 4;
    const int back_taps_step = (splits * chunk_taps + (both ? plane_taps : 0)) / 4;
    Row outer[pairs + 1], middle[2][pairs];
#pragma unroll
    for (int i = 0; i <= pairs; ++i) {
        outer[i].clear();
        load_plane_row(outer[i], source, thread, 2 * i);
    }
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
        middle[0][i].clear();
        middle[1][i].clear();
        load_plane_row(middle[0][i], source, thread, 2 * i + 1);
    }
    const auto step = [&](const Row (&now)[pairs], Row (&next)[pairs], Index move, int taps_move) {
        // Behind the last plane it is loaded once more.
        asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(source) : "r"(left > 1 ? (int)move : 0), "n"(sizeof(Element)));
#pragma unroll
        for (int i = 0; i < pairs; ++i)
            load_plane_row(next[i], source, thread, 2 * i + 1);
        add_plane(sums, outer, now, weights + place * 4, AxisD::window - 1, [&](int i) { load_plane_row(outer[i], source, thread, 2 * i); });
        place += taps_move;
    };
#pragma unroll 1
    while (true) {
        step(middle[0], middle[1], pitch, taps_step);
        if (--left == 0) break;
        step(middle[1], middle[0], back_pitch, back_taps_step);
        if (--left == 0) break;
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
    if constexpr (filtered && rolling) {
        add_planes(sums, origin, thread, weights, first);
        return;
    }
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
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                add_input_row(sums, window.row[i], weights + chunk * (in_span * channel_pitch), i);
                load_row(window.row[i], next, thread, i / AxisH::window, i % AxisH::window);
            }
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
    u32 again=blockIdx.x, tid=threadIdx.x;
    asm volatile("mov.u32 %0, %%ctaid.x; mov.u32 %1, %%tid.x;" : "=r"(again), "=r"(tid));
    const Block block2 = this_block(again);
    const Place tile2 = place_of_tile(block2, block2.first_tile);
    const Place thread2 = place_of_thread(tile2, tid % threads);
    const bool stores = has_work(thread2) && tid < threads;
    Element* entry = output + block2.batch * output_entry;
    with_outputs(sums, stores, [&](Sums& outputs) { write_outputs(outputs, shared, entry, tile2, thread2, stores); });
}
