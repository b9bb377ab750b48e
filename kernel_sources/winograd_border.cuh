// Outputs near the image's end, which lack the taps whose inputs would lie outside: summed up tap by tap, from their
// own inputs alone. In a tile they carry the rounding errors of neighbours, which are larger the fewer taps they have
// left.
#pragma once

#include "element_vectors.cuh"
#include "winograd_shape.cuh"

namespace tconv::winograd {

constexpr int k_border_threads = 128;
constexpr int k_border_shares = k_border_threads / 32;  // warps: each has a share of the input channels
/// Output channels and batch entries of a thread.
constexpr int border_channels = 8;
constexpr int border_entries = config::border_entries;
constexpr int border_sums = border_channels * border_entries;
constexpr int border_tiles_n = (out_group + border_channels - 1) / border_channels;
constexpr int border_pitch = border_tiles_n * border_channels;

/// The outputs of an axis from `low` to before `high` have all their taps.
template <class A>
struct Ends {
    static constexpr int padding = A::first_input * A::stride + A::before;
    __device__ static constexpr int between(int value, int least, int most) {
        return value < least ? least : value < most ? value : most;
    }
    static constexpr int low = between(A::kernel - A::stride - padding, 0, A::output);
    static constexpr int high = between(A::input * A::stride - padding, low, A::output);
};

enum class Span { ends, inner, all };
template <class A, Span Which>
struct Stretch {
    using Own = Ends<A>;
    static constexpr int count = Which == Span::all     ? A::output
                                 : Which == Span::inner ? Own::high - Own::low
                                                        : A::output - (Own::high - Own::low);
    __device__ static int at(int number) {
        if (Which == Span::all) return number;
        if (Which == Span::inner) return Own::low + number;
        return number < Own::low ? number : number + (Own::high - Own::low);
    }
};

struct Site {
    int d, h, w;
};
template <Span D, Span H, Span W>
struct Box {
    using OfD = Stretch<AxisD, D>;
    using OfH = Stretch<AxisH, H>;
    using OfW = Stretch<AxisW, W>;
    static constexpr i64 count = static_cast<i64>(OfD::count) * OfH::count * OfW::count;
    __device__ static Site at(int number) {
        constexpr int row = OfW::count > 0 ? OfW::count : 1;
        constexpr int plane = row * (OfH::count > 0 ? OfH::count : 1);
        return {OfD::at(number / plane), OfH::at(number % plane / row), OfW::at(number % row)};
    }
};
/// Where at least `direct_border` axes lack taps, each place in one box.
constexpr bool any_axis = config::direct_border == 1;
constexpr bool all_axes = config::direct_border == 3;
using BorderDH = Box<Span::ends, any_axis ? Span::all : Span::ends, all_axes ? Span::ends : Span::all>;
using BorderHW =
    Box<any_axis ? Span::inner : Span::ends, any_axis ? Span::ends : Span::inner, any_axis ? Span::all : Span::ends>;
using BorderWD = Box<Span::inner, any_axis ? Span::inner : Span::ends, Span::ends>;
constexpr i64 border_sites =
    BorderDH::count + (all_axes ? 0 : BorderHW::count + BorderWD::count);  // fewer than 2^31, by a rule
__device__ __forceinline__ Site border_site(int number) {
    if (number < BorderDH::count) return BorderDH::at(number);
    number -= static_cast<int>(BorderDH::count);
    if (number < BorderHW::count) return BorderHW::at(number);
    return BorderWD::at(number - static_cast<int>(BorderHW::count));
}

/// The taps of an output along an axis: from one to the next the kernel's index goes up by the stride, the input's down
/// by one.
struct Taps {
    int kernel;
    int input;
    int count;
};
template <class A>
__device__ __forceinline__ Taps taps_of(int output) {
    const int position = (output + Ends<A>::padding) / A::stride;
    const int phase = (output + Ends<A>::padding) % A::stride;
    const int taps = phase < A::kernel ? (A::kernel - phase - 1) / A::stride + 1 : 0;
    const int first = position < A::input ? 0 : position - (A::input - 1);
    const int end = taps < position + 1 ? taps : position + 1;
    return {phase + first * A::stride, position - first, end - first};
}

/// The weights in fp32: [tap][input channel][output channel].
__device__ __forceinline__ i64 border_weight_line(int tap, int channel) {
    return (static_cast<i64>(tap) * problem::in_channels + channel) * border_pitch;
}
constexpr int k_taps = AxisD::kernel * AxisH::kernel * AxisW::kernel;

__device__ __forceinline__ void pack_border_weights(const Element* weight, float* packed) {
    const i64 number = static_cast<i64>(blockIdx.x) * k_border_threads + threadIdx.x;
    const int column = static_cast<int>(number % border_pitch);
    const i64 line = number / border_pitch;
    const int channel = static_cast<int>(line % problem::in_channels);
    const int tap = static_cast<int>(line / problem::in_channels);
    if (tap >= k_taps) return;
    const i64 offset = weight_offset<i64>(false, channel, column, tap, out_group, k_taps);
    packed[number] = column < out_group ? to_float(load_readonly(weight + offset)) : 0;
}

/// A thread's sums: [batch entry][output channel].
using BorderSums = float[border_sums];

/// Adds the products of one tap, over a share of the group's input channels.
__device__ __forceinline__ void add_border_tap(BorderSums& sums, const Element* const (&inputs)[border_entries],
                                               i64 place, const float* weights, int share) {
    constexpr i64 image = static_cast<i64>(AxisD::input) * AxisH::input * AxisW::input;
#pragma unroll 2
    for (int channel = share; channel < in_group; channel += k_border_shares) {
        float values[border_entries];
#pragma unroll
        for (int entry = 0; entry < border_entries; ++entry)
            values[entry] = to_float(load_readonly(inputs[entry] + (channel * image + place)));
#pragma unroll
        for (int quad = 0; quad < border_channels; quad += k_quad) {
            const Floats<4> factors = load_readonly<4>(weights + (static_cast<i64>(channel) * border_pitch + quad));
#pragma unroll
            for (int i = 0; i < border_sums; ++i) {
                const int column = i % border_channels - quad;
                if (column >= 0 && column < k_quad)
                    sums[i] = fmaf(values[i / border_channels], factors.v[column], sums[i]);
            }
        }
    }
}

/// What a block has: sites of the image, a lane each, output channels of a group, batch entries.
struct BorderTile {
    Site site;
    bool inside;
    int group;
    int channel;  // of the group
    int entry;
};
__device__ __forceinline__ BorderTile border_tile() {
    constexpr int blocks = static_cast<int>((border_sites + 31) / 32);
    const int number = static_cast<int>(blockIdx.x) % blocks * 32 + static_cast<int>(threadIdx.x) % 32;
    const int column = static_cast<int>(blockIdx.y);
    return {border_site(number < border_sites ? number : 0), number < border_sites, column / border_tiles_n,
            column % border_tiles_n * border_channels, static_cast<int>(blockIdx.x) / blocks * border_entries};
}

__device__ __forceinline__ void sum_border_share(BorderSums& sums, const BorderTile& tile, const Element* input,
                                                 const float* weights, int batch) {
    constexpr i64 entry_size = problem::in_channels * AxisD::input * AxisH::input * AxisW::input;
    const int share = static_cast<int>(threadIdx.x) / 32;
    const Element* inputs[border_entries];
#pragma unroll
    for (int entry = 0; entry < border_entries; ++entry) {
        const int own = tile.entry + entry < batch ? tile.entry + entry : batch - 1;
        inputs[entry] = input + (own * entry_size + tile.group * (entry_size / groups));
    }
    const Taps of_d = taps_of<AxisD>(tile.site.d);
    const Taps of_h = taps_of<AxisH>(tile.site.h);
    const Taps of_w = taps_of<AxisW>(tile.site.w);
    for (int d = 0; d < of_d.count; ++d) {
        for (int h = 0; h < of_h.count; ++h) {
            for (int w = 0; w < of_w.count; ++w) {
                const int tap = ((of_d.kernel + d * AxisD::stride) * AxisH::kernel + of_h.kernel + h * AxisH::stride) *
                                    AxisW::kernel +
                                of_w.kernel + w * AxisW::stride;
                const i64 place =
                    (static_cast<i64>(of_d.input - d) * AxisH::input + of_h.input - h) * AxisW::input + of_w.input - w;
                add_border_tap(sums, inputs, place,
                               weights + (border_weight_line(tap, tile.group * in_group) + tile.channel), share);
            }
        }
    }
}

/// Adds up the shares' sums and stores them, a part of them a share.
__device__ __forceinline__ void store_border(const BorderSums& sums, const BorderTile& tile, const Element* bias,
                                             Element* output, int batch) {
    constexpr i64 image = static_cast<i64>(AxisD::output) * AxisH::output * AxisW::output;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int share = static_cast<int>(threadIdx.x) / 32;
    float* shared = dynamic_shared<float>();
#pragma unroll
    for (int i = 0; i < border_sums; ++i)
        shared[(share * border_sums + i) * 32 + lane] = sums[i];
    __syncthreads();
    // What it overwrites is there, and stays.
    wait_for_launch_before();
    if (!tile.inside) return;
    const i64 place = (static_cast<i64>(tile.site.d) * AxisH::output + tile.site.h) * AxisW::output + tile.site.w;
    for (int i = share; i < border_sums; i += k_border_shares) {
        const int entry = tile.entry + i / border_channels;
        const int channel = tile.channel + i % border_channels;
        if (entry >= batch || channel >= out_group) continue;
        float sum = 0;
#pragma unroll
        for (int from = 0; from < k_border_shares; ++from)
            sum += shared[(from * border_sums + i) * 32 + lane];
        const int of_all = tile.group * out_group + channel;
        if constexpr (problem::bias) sum += to_float(load_readonly(bias + of_all));
        output[(static_cast<i64>(entry) * problem::out_channels + of_all) * image + place] = from_float<Element>(sum);
    }
}

__device__ __forceinline__ void replace_border(const Element* input, const float* weights, const Element* bias,
                                               Element* output, int batch) {
    const BorderTile tile = border_tile();
    BorderSums sums = {};
    sum_border_share(sums, tile, input, weights, batch);
    store_border(sums, tile, bias, output, batch);
}

}  // namespace tconv::winograd
