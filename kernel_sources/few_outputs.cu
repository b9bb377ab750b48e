// Transposed convolution to few output channels, in plain fp32 arithmetic on tensors of every type and layout.
//
// A thread computes a box of outputs of one group and walks over the group's input channels: the next channel's window
// is on its way to registers while the one at hand is multiplied. In channels-last tensors a window is rows of a
// vector of channels, one row after the other. Weights are read from shared memory, the same by all
// threads. Where the image is small the threads of a block share the channels of a box and add their sums at the end.
// Filtered, sums are of products that two outputs along the height share.
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

/// Weights to shared memory: [input channel][output channel][tap].
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
            const int offset = weight_offset<int>(channels_last, in, first + out, tap, out_group, taps);
            return to_float(load_readonly(weight + group + offset));
        };
        float* staged_taps = shared + (in * channel_pitch + out * taps_pitch);
        if constexpr (filtered) {
            const TapPair pair(part);
            pair.store(staged_taps, value(pair.a), value(pair.b));
        } else {
            staged_taps[part] = value(part);
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

/// Channel `in` of an input row against row (kd, kh) of the kernel, for the thread's output row (jd, jh).
__device__ __forceinline__ void add_row(Products& sums, const Row& row, int in, const float* weights, int jd, int jh,
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

__device__ __forceinline__ void add_window(Products& sums, const Window& window, const float* weights) {
    if constexpr (filtered) {
#pragma unroll
        for (int id = 0; id < AxisD::window; ++id) {
            const auto row = [&](int i) -> const Row& { return window.row[id * AxisH::window + i]; };
            add_plane(sums, row, weights, id, [](int) {});
        }
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

/// The planes of a thread's windows of chunks `first`, `first` + splits, ... that lie inside the tensor: one, or a
/// front and a back one, which meets the first half of the kernel. Nothing along the depth is outside, so all planes
/// have their zeros in the same rows' registers.
struct PlaneWalk {
    const Element* source;
    int quad;  // of the staged taps
    int left;

    __device__ __forceinline__ PlaneWalk(const Element* origin, const Place& thread, int first) {
        const bool front = AxisD::holds(thread.d, 0);
        const bool back = AxisD::window == 2 && AxisD::holds(thread.d, 1);
        const bool both = front && back;
        left = front || back ? (chunks - first + splits - 1) / splits * (both ? 2 : 1) : 0;
        source = origin + (first * chunk_pitch + (front ? 0 : plane_pitch));
        quad = first * chunk_quads + (front ? (AxisD::window - 1) * plane_quads : 0);
        pitch[0] = both ? plane_pitch : turn_pitch;
        pitch[1] = both ? turn_pitch - plane_pitch : turn_pitch;
        quads[0] = both ? -plane_quads : splits * chunk_quads;
        quads[1] = both ? splits * chunk_quads + plane_quads : splits * chunk_quads;
    }
    /// Planes with even and odd numbers are followed by others. The last one is its own next.
    __device__ __forceinline__ void next_source(int parity) {
        source = hidden(source) + (left > 1 ? pitch[parity] : 0);
    }
    __device__ __forceinline__ void next_taps(int parity) { quad += quads[parity]; }
    __device__ __forceinline__ void load(Row& row, const Place& thread, int i) const {
        row.load({source + i * row_pitch, thread.w, AxisH::holds(thread.h, i)});
    }

private:
    static constexpr Index row_pitch = AxisW::input * (channels_last ? static_cast<Index>(problem::in_channels) : 1);
    static constexpr Index plane_pitch = AxisH::input * row_pitch;
    static constexpr auto turn_pitch = static_cast<Index>(splits * chunk_pitch);
    static constexpr int chunk_quads = in_span * channel_pitch / 4;
    static constexpr int plane_quads = staged_taps / AxisD::window / 4;
    Index pitch[2];
    int quads[2];
};

/// Filtered, plane by plane: a pair's outer rows are loaded for the next plane as soon as they are needed no more, the
/// one in the middle, which is needed to the end, meanwhile into other registers.
__device__ __forceinline__ void add_planes(Products& sums, const Element* origin, const Place& thread,
                                           const float* weights, int first) {
    PlaneWalk walk(origin, thread, first);
    if (walk.left == 0) return;
    Row outer[pairs + 1], middle[2][pairs];
#pragma unroll
    for (int i = 0; i <= pairs; ++i) {
        outer[i].clear();
        walk.load(outer[i], thread, 2 * i);
    }
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
        middle[0][i].clear();
        middle[1][i].clear();
        walk.load(middle[0][i], thread, 2 * i + 1);
    }
    const auto step = [&](int parity) {
        walk.next_source(parity);
#pragma unroll
        for (int i = 0; i < pairs; ++i)
            walk.load(middle[1 - parity][i], thread, 2 * i + 1);
        const auto row = [&](int i) -> const Row& { return i % 2 == 0 ? outer[i / 2] : middle[parity][i / 2]; };
        add_plane(sums, row, weights + walk.quad * 4, AxisD::window - 1,
                  [&](int i) { walk.load(outer[i / 2], thread, i); });
        walk.next_taps(parity);
    };
#pragma unroll 1
    while (true) {
        step(0);
        if (--walk.left == 0) break;
        step(1);
        if (--walk.left == 0) break;
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

/// All threads of the block together; of those whose sums are complete the ones that have work store.
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
            if constexpr (store_width > 1 && !filtered) loosen(sums);
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

/// What a thread of the block has to do.
struct Share {
    u32 batch;
    Place tile, thread;
    int split, number;
    bool works;
};

__device__ __forceinline__ Share share_of(u32 block_number, u32 thread_number) {
    const Block block = this_block(block_number);
    Share share{};
    share.batch = block.batch;
    share.tile = place_of_tile(block, block.first_tile);
    share.split = static_cast<int>(thread_number) / threads;
    share.number = static_cast<int>(thread_number) % threads;
    share.thread = place_of_thread(share.tile, static_cast<u32>(share.number));
    share.works = has_work(share.thread);
    return share;
}

}  // namespace tconv::few_outputs

extern "C" __global__ void __launch_bounds__(tconv::config::threads* tconv::config::splits, tconv::config::min_blocks)
    tconv_few_outputs(const tconv::Element* __restrict__ input, const tconv::Element* __restrict__ weight,
                      const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output) {
    using namespace tconv;
    using namespace tconv::few_outputs;
    float* shared = dynamic_shared<float>();
    Products sums;
    {
        const Share share = share_of(blockIdx.x, threadIdx.x);
        stage_weights(shared, weight, share.tile);
        __syncthreads();
        const i64 input_entry = problem::in_channels * static_cast<i64>(input_volume);
        if (share.works) {
            begin_sums(sums, bias, share.thread, share.split == 0);
            add_chunks(sums, origin_of(input + share.batch * input_entry, share.thread), share.thread, shared,
                       share.split);
        }
    }
    const Share share = share_of(hidden(blockIdx.x), hidden(threadIdx.x));
    if constexpr (splits > 1) join(sums, shared, share.split, share.number);
    const bool stores = share.works && share.split == 0;
    Element* entry = output + share.batch * (problem::out_channels * static_cast<i64>(output_volume));
    with_outputs(sums, stores,
                 [&](Sums& outputs) { write_outputs(outputs, shared, entry, share.tile, share.thread, stores); });
}
