// Transposed convolution to few output channels, in plain fp32 arithmetic on tensors of every type and layout.
//
// A thread computes a box of outputs of one group and walks over the group's input channels: the next channel's window
// is on its way to registers while the one at hand is multiplied, or the block's windows come to shared memory as a
// box of the copy engine. In channels-last tensors a window is rows of a vector of channels, one row after the other.
// Weights are read from shared memory, the same by all threads. Where the image is small the threads of a block share
// the channels of a box and add their sums at the end.
#include "box_store.cuh"
#include "few_outputs_boxes.cuh"
#include "held.cuh"

namespace tconv::few_outputs {

constexpr bool ahead = config::ahead == 1;
/// Row by row: as soon as one is multiplied the next chunk's takes its registers.
constexpr bool rolling = config::ahead == 2;

/// Channels of a window, which are multiplied together.
constexpr int chunks = in_group / in_span;
constexpr i64 chunk_pitch = channels_last ? in_span : static_cast<i64>(input_volume);

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

/// Chunks that lie further ahead than those loaded, and whose rows are asked for.
constexpr int asked_ahead = config::asked_ahead;
constexpr int within(int number, int window) {
    return number < 0 ? 0 : number < window ? number : window - 1;
}

/// Asks the L2 cache for the rows of a chunk at the thread's own positions; what else is in its window others ask for.
__device__ __forceinline__ void ask_for_window(const Element* origin, const Place& thread) {
#pragma unroll
    for (int i = 0; i < AxisD::positions * AxisH::positions; ++i) {
        const int id = within(i / AxisH::positions - AxisD::first, AxisD::window);
        const int ih = within(i % AxisH::positions - AxisH::first, AxisH::window);
        if (AxisD::holds(thread.d, id) && AxisH::holds(thread.h, ih) && AxisW::holds(thread.w, -AxisW::first))
            prefetch(origin + line_of(id, ih));
    }
}

__device__ __forceinline__ void add_window(Sums& sums, const Window& window, const float* weights) {
    if constexpr (channels_last) {
        // Row by row: only those at hand are in registers.
#pragma unroll
        for (int i = 0; i < rows; ++i)
            add_input_row(sums, window.row[i], weights, i);
    } else {
        add_rows(sums, window.row, weights, 0);
    }
}

/// Chunks `first`, `first` + splits, ... of the input channels.
__device__ __forceinline__ void add_chunks(Sums& sums, const Element* origin, const Place& thread, const float* weights,
                                           int first) {
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
            if constexpr (asked_ahead > 0) {
                if (chunk + (1 + asked_ahead) * splits < chunks)
                    ask_for_window(next + asked_ahead * splits * chunk_pitch, thread);
            }
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

/// All threads. `shared` is free from here on.
__device__ __forceinline__ void write_sums(Sums& sums, float* shared, Element* output, const Block& block,
                                           const Place& tile, const Place& thread, bool stores) {
    Element* entry = output + block.batch * (problem::out_channels * static_cast<i64>(output_volume));
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
            if constexpr (store_width > 1) loosen<sum_count>(&sums[0][0][0][0]);
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
    if constexpr (!boxes) {
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
        Sums sums;
        if (works) {
            begin_sums(sums, bias, thread, split == 0);
            add_chunks(sums, origin_of(input + block.batch * input_entry, thread), thread, shared, split);
        }
        if constexpr (splits > 1) join(sums, shared, split, number);
        write_sums(sums, shared, output, block, tile, thread, works && split == 0);
    }
}

extern "C" __global__ void __launch_bounds__(tconv::config::threads, tconv::config::min_blocks)
    tconv_few_outputs_boxes(const __grid_constant__ tconv::TensorMap input, const tconv::Element* __restrict__ weight,
                            const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output) {
    using namespace tconv;
    using namespace tconv::few_outputs;
    if constexpr (boxes) {
        const Block block = this_block();
        const Place tile = place_of_tile(block, block.first_tile);
        const Place thread = place_of_thread(tile);
        const Ring ring = make_ring();
        const Corner corner = corner_of(tile, block.batch);
        if (threadIdx.x == 0) {
            for (int stage = 0; stage < stages; ++stage)
                copy_box(input, ring, stage, corner, stage);
        }
        float* shared = dynamic_shared<float>();
        stage_weights(shared, weight, tile);
        __syncthreads();

        Sums sums;
        begin_sums(sums, bias, has_work(thread) ? thread : tile, true);
        add_boxes(sums, input, ring, corner, window_offset(thread, tile), shared);
        write_sums(sums, shared, output, block, tile, thread, has_work(thread));
    }
}
