// Direct transposed convolution in plain fp32, for every problem on fp32 tensors in NCHW.
//
// A block computes `tile_channels` output channels of one group for a tile of tile_d x tile_h x tile_w positions q of
// one phase; output o and position are tied by o + padding = q * stride + phase. Along w all phases can be fused: a
// thread then owns stride_w outputs for each of its positions, and the outputs of a row are contiguous. Input channels
// go by in chunks through shared memory.
#include "direct_shape.cuh"

namespace tconv::direct {

/// Starts the copy of one chunk of input channels, halo included, into shared memory; zeros outside the tensor.
template <int Vector>
__device__ __forceinline__ void load_input(float* tile, const float* input, const Place& place, int first_channel) {
    constexpr int row_vectors = (tile_w + reach + Vector - 1) / Vector;
    constexpr int count = tile_rows * row_vectors;
    const int present = ragged_chunks ? min(chunk, in_group - first_channel) : chunk;
    for (int index = threadIdx.x; index < count; index += block_size) {
        const int row = index / row_vectors;
        const int column = (index - row * row_vectors) * Vector;
        const int h = row % (tile_h + halo_h);
        const int d = row / (tile_h + halo_h);
        const Index in_d = place.q_d - halo_d + d;
        const Index in_h = place.q_h - halo_h + h;
        const Index in_w = place.q_w - reach + column;
        const bool inside = in_d >= 0 && in_d < problem::input_d && in_h >= 0 && in_h < problem::input_h && in_w >= 0 &&
                            in_w < problem::input_w;
        const Index offset =
            (in_d * static_cast<Index>(problem::input_h) + in_h) * static_cast<Index>(problem::input_w) + in_w;
        const float* source = input + (inside ? offset : 0) + first_channel * static_cast<Index>(input_volume);
        float* target = tile + row * row_pitch + column;
#pragma unroll
        for (int c = 0; c < chunk; ++c) {
            const bool valid = inside && c < present;
            copy_async<4 * Vector>(target + c * plane, source + (valid ? c * static_cast<Index>(input_volume) : 0),
                                   valid);
        }
    }
}

/// Starts the copy of one chunk of weights, as [channel of the chunk][tap][output channel]; zeros where there is none.
__device__ __forceinline__ void load_weights(float* tile, const float* weight, const Place& place, int first_channel) {
    constexpr int per_channel = taps_held * tile_channels;
    for (int index = threadIdx.x; index < chunk * per_channel; index += block_size) {
        const int c = index / per_channel;
        const int rest = index - c * per_channel;
        const int out = rest / taps_held;
        const int tap = rest - out * taps_held;
        const int tap_w = tap % taps_w_held;
        const int tap_h = tap / taps_w_held % taps_h_held;
        const int tap_d = tap / (taps_w_held * taps_h_held);
        const bool valid = (!ragged_chunks || first_channel + c < in_group) && place.block_channel + out < out_group &&
                           tap_d < place.taps_d.count && tap_h < place.taps_h.count &&
                           (fused || tap_w < place.taps_w.count);
        const int k_d = place.taps_d.first + tap_d * static_cast<int>(PhasesD::kernel_step);
        const int k_h = place.taps_h.first + tap_h * static_cast<int>(PhasesH::kernel_step);
        const int k_w = fused ? tap_w : place.taps_w.first + tap_w * static_cast<int>(PhasesW::kernel_step);
        const int k = (k_d * static_cast<int>(problem::kernel_h) + k_h) * static_cast<int>(problem::kernel_w) + k_w;
        const auto offset = weight_offset<Index>(false, first_channel + c, place.block_channel + out, k, out_group,
                                                 static_cast<Index>(kernel_volume));
        copy_async<4>(tile + (c * taps_held + tap) * weight_pitch + out, weight + (valid ? offset : 0), valid);
    }
}

__device__ __forceinline__ void load_stage(float* stage, const float* input, const float* weight, const Place& place,
                                           int number, bool aligned) {
    if constexpr (input_shared) {
        if (load_vector > 1 && aligned) {
            load_input<load_vector>(stage, input, place, number * chunk);
        } else {
            load_input<1>(stage, input, place, number * chunk);
        }
    }
    if constexpr (weight_shared) load_weights(stage + input_stage, weight, place, number * chunk);
}

/// The thread's `count` inputs of one row from column `column` of its window on, from shared memory or straight from
/// the tensor.
template <int Count>
__device__ __forceinline__ void load_window(float (&values)[Count], const float* row, Index in_w, bool row_inside,
                                            int column) {
    if constexpr (input_shared) {
        constexpr int vector = Count == window ? config::window_vector : 1;
#pragma unroll
        for (int i = 0; i < Count / vector; ++i) {
            const Floats<vector> part = load<vector>(row + column + i * vector);
#pragma unroll
            for (int j = 0; j < vector; ++j)
                values[i * vector + j] = part.v[j];
        }
#pragma unroll
        for (int i = Count / vector * vector; i < Count; ++i)
            values[i] = row[column + i];
    } else {
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            const Index position = in_w + column + i;
            const bool inside = row_inside && position >= 0 && position < problem::input_w;
            values[i] = inside ? load_readonly(row + position) : 0.0f;
        }
    }
}

/// Weights of one tap for the thread's output channels; zero for channels past the group's end.
__device__ __forceinline__ void load_tap(float (&values)[channels], const float* shared, const float* weight,
                                         int channel) {
    if constexpr (weight_shared) {
        constexpr int vector = vector_for(channels);
#pragma unroll
        for (int i = 0; i < channels / vector; ++i) {
            const Floats<vector> part = load<vector>(shared + i * vector);
#pragma unroll
            for (int j = 0; j < vector; ++j)
                values[i * vector + j] = part.v[j];
        }
    } else {
#pragma unroll
        for (int i = 0; i < channels; ++i) {
            const bool inside = out_group % tile_channels == 0 || channel + i < out_group;
            values[i] = inside ? load_readonly(weight + i * static_cast<Index>(kernel_volume)) : 0.0f;
        }
    }
}

/// One row of input against all its taps along w.
__device__ __forceinline__ void accumulate_row(float (&sums)[channels][outputs], const float* row, Index in_w,
                                               bool row_inside, const float* tap_shared, const float* tap_weight,
                                               const Place& place) {
    if constexpr (fused) {
        float inputs[window];
        load_window(inputs, row, in_w, row_inside, 0);
#pragma unroll
        for (int k = 0; k < problem::kernel_w; ++k) {
            constexpr int stride = static_cast<int>(problem::stride_w);
            constexpr int dilation = static_cast<int>(problem::dilation_w);
            const int phase = k * dilation % stride;
            const int offset = (k * dilation - phase) / stride;
            float taps[channels];
            load_tap(taps, tap_shared + k * weight_pitch, tap_weight + k, place.channel);
#pragma unroll
            for (int c = 0; c < channels; ++c) {
#pragma unroll
                for (int p = 0; p < pixels; ++p) {
                    sums[c][p * stride + phase] =
                        fmaf(taps[c], inputs[p + reach - offset], sums[c][p * stride + phase]);
                }
            }
        }
    } else {
        for (int j = 0; j < place.taps_w.count; ++j) {
            const int offset = place.taps_w.offset + j * static_cast<int>(PhasesW::offset_step);
            const int k = place.taps_w.first + j * static_cast<int>(PhasesW::kernel_step);
            float inputs[pixels];
            load_window(inputs, row, in_w, row_inside, reach - offset);
            float taps[channels];
            load_tap(taps, tap_shared + j * weight_pitch, tap_weight + k, place.channel);
#pragma unroll
            for (int c = 0; c < channels; ++c) {
#pragma unroll
                for (int p = 0; p < pixels; ++p)
                    sums[c][p] = fmaf(taps[c], inputs[p], sums[c][p]);
            }
        }
    }
}

/// One input channel against the taps of the block's phase.
__device__ __forceinline__ void accumulate_channel(float (&sums)[channels][outputs], const float* stage,
                                                   const float* input, const float* weight, const Place& place,
                                                   int in_chunk, int in_channel) {
    const Index in_w = place.q_w + place.column * pixels - reach;
    const float* weights_shared =
        stage + input_stage + in_chunk * (taps_held * weight_pitch) + (place.channel - place.block_channel);
    const float* weights_global = weight + weight_offset<Index>(false, in_channel, place.channel, 0, out_group,
                                                                static_cast<Index>(kernel_volume));
    for (int j_d = 0; j_d < place.taps_d.count; ++j_d) {
        const int offset_d = place.taps_d.offset + j_d * static_cast<int>(PhasesD::offset_step);
        const int k_d = place.taps_d.first + j_d * static_cast<int>(PhasesD::kernel_step);
        const Index in_d = place.q_d + place.row_d - offset_d;
#pragma unroll config::unroll_taps
        for (int j_h = 0; j_h < place.taps_h.count; ++j_h) {
            const int offset_h = place.taps_h.offset + j_h * static_cast<int>(PhasesH::offset_step);
            const int k_h = place.taps_h.first + j_h * static_cast<int>(PhasesH::kernel_step);
            const Index in_h = place.q_h + place.row_h - offset_h;
            const float* row = nullptr;
            bool row_inside = true;
            if constexpr (input_shared) {
                const int tile_row =
                    (place.row_d + halo_d - offset_d) * (tile_h + halo_h) + place.row_h + halo_h - offset_h;
                row = stage + in_chunk * plane + tile_row * row_pitch + place.column * pixels;
            } else {
                row_inside = in_d >= 0 && in_d < problem::input_d && in_h >= 0 && in_h < problem::input_h;
                const Index line = row_inside ? in_d * static_cast<Index>(problem::input_h) + in_h : 0;
                row =
                    input + in_channel * static_cast<Index>(input_volume) + line * static_cast<Index>(problem::input_w);
            }
            accumulate_row(sums, row, in_w, row_inside,
                           weights_shared + (j_d * taps_h_held + j_h) * (taps_w_held * weight_pitch),
                           weights_global + (k_d * static_cast<Index>(problem::kernel_h) + k_h) *
                                                static_cast<Index>(problem::kernel_w),
                           place);
        }
    }
}

__device__ __forceinline__ void accumulate_chunk(float (&sums)[channels][outputs], const float* stage,
                                                 const float* input, const float* weight, const Place& place,
                                                 int number) {
    const int first = number * chunk;
    const int present = ragged_chunks ? min(chunk, in_group - first) : chunk;
#pragma unroll 1
    for (int c = 0; c < present; ++c)
        accumulate_channel(sums, stage, input, weight, place, c, first + c);
}

/// All input channels, with `stages` chunks of shared memory in flight.
__device__ __forceinline__ void accumulate(float (&sums)[channels][outputs], const float* input, const float* weight,
                                           const Place& place) {
    if constexpr (stage_size == 0) {
        for (int number = 0; number < chunk_count; ++number)
            accumulate_chunk(sums, nullptr, input, weight, place, number);
        return;
    }
    float* shared = dynamic_shared<float>();
    const bool aligned = reinterpret_cast<u64>(input) % (4 * load_vector) == 0;
#pragma unroll
    for (int number = 0; number < stages - 1; ++number) {
        if (number < chunk_count) load_stage(shared + number * stage_size, input, weight, place, number, aligned);
        copy_async_commit();
    }
    for (int number = 0; number < chunk_count; ++number) {
        const int ahead = number + stages - 1;
        if constexpr (stages == 1) {
            __syncthreads();
            load_stage(shared, input, weight, place, number, aligned);
            copy_async_commit();
            copy_async_wait<0>();
            __syncthreads();
        } else {
            copy_async_wait<(stages >= 2 ? stages - 2 : 0)>();
            __syncthreads();
            if (ahead < chunk_count) {
                load_stage(shared + ahead % stages * stage_size, input, weight, place, ahead, aligned);
            }
            copy_async_commit();
        }
        accumulate_chunk(sums, shared + number % stages * stage_size, input, weight, place, number);
    }
}

/// Offset of output row (d, h) of a channel, or -1 where the tile's row lies outside the output.
__device__ __forceinline__ Index output_row(const Place& place, int row_d, int row_h) {
    const Index out_d = (place.q_d + row_d) * static_cast<Index>(problem::stride_d) + place.phase_d -
                        static_cast<Index>(problem::padding_d);
    const Index out_h = (place.q_h + row_h) * static_cast<Index>(problem::stride_h) + place.phase_h -
                        static_cast<Index>(problem::padding_h);
    if (out_d < 0 || out_d >= problem::output_d || out_h < 0 || out_h >= problem::output_h) return -1;
    return (out_d * static_cast<Index>(problem::output_h) + out_h) * static_cast<Index>(problem::output_w);
}

__device__ __forceinline__ float bias_of(const float* bias, const Place& place, int channel) {
    if constexpr (!problem::bias) return 0.0f;
    return channel < out_group ? load_readonly(bias + place.group * out_group + channel) : 0.0f;
}

/// Straight from registers.
__device__ __forceinline__ void store_direct(const float (&sums)[channels][outputs], const float* bias, float* output,
                                             const Place& place) {
    const Index row = output_row(place, place.row_d, place.row_h);
    if (row < 0) return;
    constexpr int step = fused ? 1 : static_cast<int>(problem::stride_w);
    const Index out_w = (place.q_w + place.column * pixels) * static_cast<Index>(problem::stride_w) + place.phase_w -
                        static_cast<Index>(problem::padding_w);
#pragma unroll
    for (int c = 0; c < channels; ++c) {
        if (place.channel + c >= out_group) break;
        const float offset = bias_of(bias, place, place.channel + c);
        float* target = output + (place.channel + c) * static_cast<Index>(output_volume) + row;
#pragma unroll
        for (int i = 0; i < outputs; ++i) {
            const Index position = out_w + i * step;
            if (position >= 0 && position < problem::output_w) target[position] = sums[c][i] + offset;
        }
    }
}

/// Through shared memory, so that a warp writes whole lines. Within a row, output i of column t lies at i * columns +
/// t, which spreads both the writes and the reads over the banks.
__device__ __forceinline__ void store_staged(const float (&sums)[channels][outputs], const float* bias, float* output,
                                             const Place& place) {
    constexpr int row_size = columns * outputs;
    constexpr int rows = tile_d * tile_h;
    float* staging = dynamic_shared<float>();
    const int thread_row = threadIdx.x / columns;
    const Index out_w = place.q_w * static_cast<Index>(problem::stride_w) - static_cast<Index>(problem::padding_w);
#pragma unroll
    for (int c = 0; c < channels; ++c) {
        const float offset = bias_of(bias, place, place.channel + c);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < outputs; ++i)
            staging[thread_row * row_size + i * columns + place.column] = sums[c][i] + offset;
        __syncthreads();
        for (int index = threadIdx.x; index < channel_threads * rows * row_size; index += block_size) {
            const int line = index / row_size;
            const int i = index - line * row_size;
            const Index row = output_row(place, line % rows / tile_h, line % tile_h);
            const int channel = place.block_channel + line / rows * channels + c;
            const Index position = out_w + i;
            if (row >= 0 && channel < out_group && position >= 0 && position < problem::output_w) {
                output[channel * static_cast<Index>(output_volume) + row + position] =
                    staging[line * row_size + i % outputs * columns + i / outputs];
            }
        }
    }
}

}  // namespace tconv::direct

extern "C" __global__ void __launch_bounds__(tconv::config::block_size, tconv::config::min_blocks)
    tconv_direct(const float* __restrict__ input, const float* __restrict__ weight, const float* __restrict__ bias,
                 float* __restrict__ output) {
    using namespace tconv;
    using namespace tconv::direct;
    const Place place = place_of_block();
    const i64 first_in = (static_cast<i64>(place.batch) * problem::groups + place.group) * in_group;
    const i64 first_out = (static_cast<i64>(place.batch) * problem::groups + place.group) * out_group;
    const float* group_input = input + first_in * input_volume;
    const float* group_weight = weight + static_cast<i64>(place.group) * in_group * out_group * kernel_volume;
    float* group_output = output + first_out * output_volume;

    float sums[channels][outputs] = {};
    const bool any_tap = place.taps_d.count > 0 && place.taps_h.count > 0 && (fused || place.taps_w.count > 0);
    if (any_tap) accumulate(sums, group_input, group_weight, place);
    if constexpr (staged_store) {
        store_staged(sums, bias, group_output, place);
    } else {
        store_direct(sums, bias, group_output, place);
    }
}
