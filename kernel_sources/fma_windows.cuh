// Taps along the width whose inputs come from registers: neighbouring positions of a lane read what they need of a row,
// the window, in whole vectors.
#pragma once

#include "fma_tap.cuh"
#include "held.cuh"

namespace tconv::product {

/// Neighbours of a lane, and what they read of a row of the tile.
constexpr int lane_windows = m_fragments / row_vector;
using Window = InputStep[config::window_words];
/// Words from a window's start to its first position at offset 0.
constexpr int window_lead = tile_lead % row_vector + AxisW::halo;

__device__ __forceinline__ void load_window(Window& window, const u32* words) {
#pragma unroll
    for (int word = 0; word < step_words; ++word) {
#pragma unroll
        for (int i = 0; i < config::window_words; i += row_vector) {
            const auto loaded = load<row_vector>(reinterpret_cast<const float*>(words + word * word_pitch + i));
#pragma unroll
            for (int k = 0; k < row_vector; ++k)
                put_word<Element>(window[i + k], word, loaded.v[k]);
        }
    }
}

/// Where a tap along the width belongs.
struct WindowTap {
    int offset, phase;
};
constexpr int window_taps = windows ? AxisW::kernel : 1;
/// All of them, in the order of their weights.
struct WindowTaps {
    WindowTap v[window_taps];
};
__device__ constexpr WindowTaps make_window_taps() {
    WindowTaps taps{};
    int count = 0;
    for (int w = 0; windows && w < AxisW::offsets; ++w) {
        for (int phase = 0; phase < AxisW::tapped; ++phase)
            if ((AxisW::mask(w) >> phase & 1) != 0) taps.v[count++] = {w, phase};
    }
    return taps;
}

/// With one phase along depth and height an input meets the columns of all taps that it has, if so many weights are at
/// hand.
constexpr bool inputs_first = AxisD::tapped * AxisH::tapped == 1 && window_taps * lane_columns * weight_channels <= 48;

/// One channel of a window, its inputs one after the other; columns run back and forth.
__device__ __forceinline__ void multiply_window(Sums& sums, const Window& window, int first, int channel,
                                                const Weights (&weights)[window_taps], int first_weight) {
    constexpr WindowTaps taps = make_window_taps();
    constexpr int columns = window_taps * lane_columns;
#pragma unroll
    for (int at = 0; at < window_lead + row_vector; ++at) {
#pragma unroll
        for (int i = 0; i < columns; ++i) {
            const int number = at % 2 == 0 ? i : columns - 1 - i;
            const WindowTap tap = taps.v[number / lane_columns];
            const int column = number % lane_columns;
            const int m = at - window_lead + tap.offset * AxisW::unit;
            if (m < 0 || m >= row_vector) continue;
            float& sum = sums[first + m][tap.phase][column / fragment_sums][column % fragment_sums];
            sum = fmaf(window[at].channel[channel], weights[number / lane_columns].word[first_weight + column], sum);
        }
    }
}

__device__ __forceinline__ void multiply_inputs(Sums& sums, const Window (&input)[lane_windows], const u32*& weights) {
#pragma unroll
    for (int channel = 0; channel < step_channels; channel += weight_channels) {
        Weights taps[window_taps];
#pragma unroll
        for (int tap = 0; tap < window_taps; ++tap)
            taps[tap] = load_weights(weights + tap * tap_words, channel);
#pragma unroll
        for (int c = 0; c < weight_channels; ++c) {
#pragma unroll
            for (int window = 0; window < lane_windows; ++window)
                multiply_window(sums, input[window], window * row_vector, channel + c, taps, c * lane_columns);
        }
    }
    weights += window_taps * tap_words;
}

/// Offset by offset.
__device__ __forceinline__ void multiply_offsets(Sums& sums, const Window (&input)[lane_windows], u32 mask_d,
                                                 u32 mask_h, const u32*& weights) {
#pragma unroll
    for (int w = 0; w < AxisW::offsets; ++w) {
        InputStep shifted[m_fragments];
#pragma unroll
        for (int m = 0; m < m_fragments; ++m)
            shifted[m] = input[m / row_vector][window_lead - w * AxisW::unit + m % row_vector];
        multiply_tap(sums, shifted, 0, {mask_d, mask_h, AxisW::mask(w)}, weights);
    }
}

/// Steps in one unrolled body: in longer ones the assembler leaves the order of the source.
constexpr int window_steps = config::step_body >= 64 ? 1 : 2;

/// All steps at one offset along depth and height. Addresses move on from step to step.
__device__ __forceinline__ void multiply_windows(Sums& sums, const u32* stage, const Rows& rows, int back, u32 mask_d,
                                                 u32 mask_h, const u32*& weights) {
    const u32* words[lane_windows];
#pragma unroll
    for (int window = 0; window < lane_windows; ++window)
        words[window] = held_shared(stage + rows.word[window * row_vector] - window_lead - back);
    weights = held_shared(weights);
#pragma unroll window_steps
    for (int step = 0; step < steps; ++step) {
        Window input[lane_windows];
#pragma unroll
        for (int window = 0; window < lane_windows; ++window) {
            load_window(input[window], words[window]);
            words[window] += step_words * word_pitch;
        }
        if constexpr (inputs_first)
            multiply_inputs(sums, input, weights);
        else
            multiply_offsets(sums, input, mask_d, mask_h, weights);
    }
}

__device__ __forceinline__ void multiply_chunk_windows(Sums& sums, const u32* stage, const u32* weights,
                                                       const Rows& rows, const Place& place) {
#pragma unroll unrolled_d
    for (int d = 0; d < place.run_d.count; ++d) {
#pragma unroll unrolled_h
        for (int h = 0; h < place.run_h.count; ++h) {
            const int back = (offset_of<AxisD>(place.run_d, d) * rows_h + offset_of<AxisH>(place.run_h, h)) * row_words;
            multiply_windows(sums, stage, rows, back, AxisD::mask(d), AxisH::mask(h), weights);
        }
    }
}

}  // namespace tconv::product
