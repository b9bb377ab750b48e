// What the kernels of an implicit product know of problem and config: axes and their phases, the block's tile, shared
// memory. What a family's arithmetic looks like is included before (mma_shape.cuh, fma_shape.cuh).
#pragma once

#include "elements.cuh"
#include "phases.cuh"
#include "split_off.cuh"
#include "warp_mma.cuh"

namespace tconv::product {

/// A 32-bit word of the shared input tile holds this many channels of a position.
constexpr int word_channels = native ? 2 : 1;
constexpr int chunk_words = config::channel_chunk / word_channels;
constexpr int steps = chunk_words / step_words;
__device__ constexpr int count_bits(u32 bits) {
    int count = 0;
    for (; bits != 0; bits &= bits - 1)
        ++count;
    return count;
}

/// An axis of the problem. Where its phases are joined a block computes all of them, and offsets are multiples of
/// `unit`; otherwise a block computes one. Joined phases may be turned: with padding and every tap `Turn` larger,
/// multiples of the stride together with the padding, positions begin where the output does.
template <i64 Kernel, i64 Stride, i64 Padding, i64 Dilation, i64 Divisor, i64 Inverse, i64 Input, i64 Output,
          bool Joined, i64 Turn = 0>
struct Axis {
    using Phases = AxisPhases<Kernel, Stride, Dilation, Divisor, Inverse>;
    static constexpr bool joined = Joined;
    static constexpr int kernel = static_cast<int>(Kernel);
    static constexpr Index stride = static_cast<Index>(Stride);
    static constexpr Index padding = static_cast<Index>(Padding + Turn);
    static constexpr Index input = static_cast<Index>(Input);
    static constexpr Index output = static_cast<Index>(Output);
    static constexpr int halo = static_cast<int>(Turn > 0 ? ((Kernel - 1) * Dilation + Turn) / Stride : Phases::halo);
    static constexpr int unit = static_cast<int>(!Joined                  ? Phases::offset_step
                                                 : Dilation % Stride == 0 ? Dilation / Stride
                                                                          : 1);
    /// Offsets that a joined axis runs over; the most taps of a phase of one that is not.
    static constexpr int offsets = static_cast<int>(Joined ? halo / unit + 1 : Phases::max_taps);
    /// Phases of a block, those without taps included.
    static constexpr int block_phases = static_cast<int>(Joined ? Stride : 1);

    __device__ static constexpr Taps taps_of(int phase) {
        if (phase >= Turn) return Phases::taps(phase - Turn);
        const Taps taps = Phases::taps(phase - Turn + Stride);
        return {taps.first, taps.count, taps.offset + 1};
    }
    /// Index of the tap of phase `phase` at offset `number * unit`, or -1.
    __device__ static constexpr int tap(int phase, int number) {
        const Taps taps = taps_of(phase);
        const int distance = number * unit - taps.offset;
        const int step = static_cast<int>(Phases::offset_step);
        if (taps.count == 0 || distance < 0 || distance % step != 0 || distance / step >= taps.count) return -1;
        return taps.first + distance / step * static_cast<int>(Phases::kernel_step);
    }
    /// The phases with taps of a joined axis, as bits.
    __device__ static constexpr u32 make_phase_bits() {
        u32 bits = 0;
        for (int phase = 0; Joined && phase < block_phases; ++phase)
            bits |= (taps_of(phase).count > 0 ? 1u : 0u) << phase;
        return Joined ? bits : 1u;
    }
    static constexpr u32 phase_bits = make_phase_bits();
    static constexpr int tapped = count_bits(phase_bits);

    /// Number of `phase` among those with taps, or -1; 0 where phases are not joined.
    __device__ static constexpr int tapped_index(int phase) {
        if (!Joined || tapped == block_phases) return Joined ? phase : 0;
        return (phase_bits >> phase & 1) != 0 ? count_bits(phase_bits & ((1u << phase) - 1)) : -1;
    }
    /// The reverse of tapped_index.
    __device__ static constexpr int tapped_phase(int index) {
        int phase = 0;
        while (tapped_index(phase) != index)
            ++phase;
        return phase;
    }
    /// Bits of the tapped phases that have a tap at offset `number`; all offsets behind each other.
    __device__ static constexpr u64 make_bits() {
        u64 bits = 0;
        for (int number = 0; Joined && Stride > 1 && number < offsets; ++number) {
            for (int phase = 0; phase < block_phases; ++phase) {
                if (tap(phase, number) >= 0) bits |= 1ull << (number * tapped + tapped_index(phase));
            }
        }
        return bits;
    }
    static constexpr u64 bits = make_bits();
    /// True where every tapped phase has a tap at every offset.
    static constexpr bool uniform =
        !Joined || Stride == 1 || bits == (tapped * offsets < 64 ? (1ull << (tapped * offsets)) - 1 : ~0ull);
    /// Tapped phases with a tap at offset `number`, as bits.
    __device__ static constexpr u32 mask(int number) {
        constexpr u32 all = (1u << tapped) - 1;
        return uniform ? all : static_cast<u32>(bits >> (number * tapped)) & all;
    }

    /// Phase number `rank` in an order in which those with more taps come first: kernel element `rank` is the first tap
    /// of its phase; phases between multiples of the divisor have none.
    __device__ static constexpr int ranked_phase(int rank) {
        constexpr int tapped_ranks = static_cast<int>(Phases::kernel_step);
        constexpr int untapped = static_cast<int>(Divisor) - 1;  // of each `Divisor` phases
        if (untapped == 0 || rank < tapped_ranks)
            return static_cast<int>(static_cast<i64>(rank) * (Dilation % Stride) % Stride);
        const int number = rank - tapped_ranks;
        return number / (untapped < 1 ? 1 : untapped) * (untapped + 1) + 1 + number % (untapped < 1 ? 1 : untapped);
    }
    /// True where phases that are apart do not all have as many taps.
    static constexpr bool uneven = !Joined && (Kernel % Phases::kernel_step != 0 || Divisor > 1);

    /// First position of phase `phase`, or of all phases where they are joined.
    __device__ static constexpr Index first_position(int phase) {
        if (Joined) return padding / stride;
        return padding <= phase ? 0 : (padding - phase + stride - 1) / stride;
    }
    /// Positions that cover every output of the phases of a block.
    static constexpr i64 positions = Joined ? (Output - 1 + Padding + Turn) / Stride - (Padding + Turn) / Stride + 1
                                            : (Output + Stride - 1) / Stride;
};

#define TCONV_AXIS(axis, joined, turn)                                                                            \
    Axis<problem::kernel_##axis, problem::stride_##axis, problem::padding_##axis, problem::dilation_##axis,       \
         problem::tap_divisor_##axis, problem::tap_inverse_##axis, problem::input_##axis, problem::output_##axis, \
         problem::stride_##axis == 1 || (joined), turn>
using AxisD = TCONV_AXIS(d, config::joined_axes >= 3, 0);
using AxisH = TCONV_AXIS(h, config::joined_axes >= 2, 0);
using AxisW = TCONV_AXIS(w, config::joined_axes >= 1, phase_turn);
#undef TCONV_AXIS

constexpr int tile_n = config::tile_n;
constexpr int tile_d = config::tile_d;
constexpr int tile_h = config::tile_h;
constexpr int tile_w = config::tile_w;
/// Positions along the width that neighbouring warps both compute, where each writes a window of its rows
/// (store_window).
constexpr int overlap = config::overlap;
/// Positions from one tile along the width to the next.
constexpr int tile_step = config::tile_step;

constexpr int warps_m = config::warps_m;
constexpr int warps_n = config::warps_n;
constexpr int threads = 32 * warps_m * warps_n;
constexpr int m_fragments = config::m_fragments;  // of positions
constexpr int n_fragments = config::n_fragments;  // of channels, for each phase; of columns where they are packed
constexpr int warp_rows = fragment_rows * m_fragments;

/// Columns of the product: for each tapped phase of the block the block's channels; or, packed, one behind the other
/// with the channels of a phase together, and zeros where a phase has no tap at an offset.
constexpr bool packed = config::packed_columns != 0;
constexpr int joined_phases = AxisD::tapped * AxisH::tapped * AxisW::tapped;
constexpr int sum_phases = packed ? 1 : joined_phases;
constexpr int block_fragments = warps_n * n_fragments;
constexpr int block_channels = fragment_columns * block_fragments;

constexpr int in_group = static_cast<int>(problem::in_channels / problem::groups);
constexpr int out_group = static_cast<int>(problem::out_channels / problem::groups);
constexpr int chunks = (in_group + config::channel_chunk - 1) / config::channel_chunk;
constexpr int channel_blocks = packed ? 1 : (out_group + block_channels - 1) / block_channels;

constexpr i64 kernel_volume = problem::kernel_d * problem::kernel_h * problem::kernel_w;
constexpr i64 input_volume = problem::input_d * problem::input_h * problem::input_w;
constexpr i64 output_volume = problem::output_d * problem::output_h * problem::output_w;

/// The hardware copies whole boxes of the input.
constexpr bool boxes = config::loads == 1;

// The shared input tile. Channels first: [word][n][d][h][w], rows from a multiple of `vector` elements of the tensor
// on; channels last: [n][d][h][w][word]. The pitches keep the loads of a fragment free of bank conflicts.
constexpr bool channels_last = problem::channels_last;
constexpr int vector = config::load_vector;
/// Lines of a group's channels-first input as it is read: channels, or packed pairs of them.
constexpr int line_channels = packs_input ? 2 : 1;
constexpr int group_lines = (in_group + line_channels - 1) / line_channels;
constexpr i64 all_lines = problem::groups * group_lines;
template <bool Pairs>
struct LineOf {
    using type = Element;
};
template <>
struct LineOf<true> {
    using type = u32;
};
/// A position of a line.
using LineElement = LineOf<packs_input>::type;
constexpr int rows_d = config::rows_d;
constexpr int rows_h = config::rows_h;
constexpr int row_pitch = config::row_pitch;
constexpr int word_pitch = channels_last ? 1 : config::word_pitch;
constexpr int position_pitch = channels_last ? config::word_pitch : 1;
constexpr int input_stage = config::input_words;
/// Of each 8 words of a position the lanes t = 0 to 3 of a fragment take 2t and 2t + 1 instead of t and t + 4: without
/// bank conflicts at a pitch of an odd multiple of 4.
constexpr bool neighbours = !channels_last && word_pitch % 8 == 4;

template <class A>
constexpr int axis_taps = A::joined && !packed ? A::kernel : A::offsets;
/// Sums of a block's phases along depth and width, to which each pair of offsets adds.
constexpr int pair_phases = packed ? 1 : AxisD::tapped * AxisW::tapped;
/// Taps, or pairs of them, for which a stage holds weights.
constexpr int block_taps = axis_taps<AxisH> * (tap_pairs ? (AxisD::offsets * AxisW::offsets + 1) / 2 * pair_phases
                                                         : axis_taps<AxisD> * axis_taps<AxisW>);
/// Words of one tap and step: the block's fragments.
constexpr int tap_words = block_fragments * fragment_words;
constexpr int weight_stage = (block_taps * steps * tap_words + 3) / 4 * 4;
/// The weights of all chunks stay in shared memory behind the stages.
constexpr bool resident_weights = config::resident_weights != 0;
constexpr int stage_words = config::stage_words;

/// Phases along axes that are not joined: each combination has its own packed weights.
constexpr i64 phase_blocks_w = AxisW::joined ? 1 : problem::stride_w;
constexpr i64 phase_blocks_h = AxisH::joined ? 1 : problem::stride_h;
constexpr i64 phase_blocks_d = AxisD::joined ? 1 : problem::stride_d;

/// Where the packed weights of one block and chunk begin, in words.
__device__ __forceinline__ i64 packed_offset(int group, int channel_block, i64 phase_d, i64 phase_h, i64 phase_w,
                                             int chunk) {
    const i64 phase = (phase_d * phase_blocks_h + phase_h) * phase_blocks_w + phase_w;
    const i64 block = (static_cast<i64>(group) * channel_blocks + channel_block) *
                          (phase_blocks_d * phase_blocks_h * phase_blocks_w) +
                      phase;
    return (block * chunks + chunk) * weight_stage;
}

/// Taps of the block's phase along an axis: its first offset and how many there are. A joined axis runs over all
/// offsets.
struct Run {
    int first_offset;
    int count;
};
template <class A>
__device__ __forceinline__ Run run_of(int phase) {
    if constexpr (A::joined) return {0, A::offsets};
    const Taps taps = A::Phases::taps(phase);
    return {taps.offset, taps.count};
}

/// What a block computes.
struct Place {
    int group;
    int channel_block;
    int phase_d, phase_h, phase_w;  // 0 along joined axes
    Index q_d, q_h, q_w;            // first position of the tile
    int batch;                      // first batch entry of the tile
    Run run_d, run_h, run_w;
};

/// Tiles of all batch entries.
__device__ __forceinline__ i64 tiles_of(int batch) {
    return static_cast<i64>(config::entry_blocks) * ((batch + tile_n - 1) / tile_n);
}

/// Phases that do not all have as many taps come one after the other, those with the most first: blocks that take every
/// n-th tile, or the next one, then have as much to do as each other.
constexpr bool phases_last = AxisD::uneven || AxisH::uneven || AxisW::uneven;
constexpr i64 phase_blocks = phase_blocks_d * phase_blocks_h * phase_blocks_w;

__device__ __forceinline__ void take_phases(Place& place, i64& number) {
    place.phase_w = AxisW::ranked_phase(split_off(number, phase_blocks_w));
    place.phase_h = AxisH::ranked_phase(split_off(number, phase_blocks_h));
    place.phase_d = AxisD::ranked_phase(split_off(number, phase_blocks_d));
}

/// Tiles of the first batch entries come first; those of one tile of positions lie side by side.
__device__ __forceinline__ Place place_of_tile(i64 number, int batch) {
    Place place{};
    if constexpr (phases_last) {
        const i64 of_phase = tiles_of(batch) / phase_blocks;
        i64 phase = number / of_phase;
        number -= phase * of_phase;
        take_phases(place, phase);
    }
    place.channel_block = split_off(number, channel_blocks);
    if constexpr (!phases_last) take_phases(place, number);
    const auto first = [&](i64 positions, int tile) {
        return static_cast<Index>(split_off(number, (positions + tile - 1) / tile)) * tile;
    };
    place.q_w = first(AxisW::positions, tile_step) + AxisW::first_position(place.phase_w);
    place.q_h = first(AxisH::positions, tile_h) + AxisH::first_position(place.phase_h);
    place.q_d = first(AxisD::positions, tile_d) + AxisD::first_position(place.phase_d);
    place.group = split_off(number, problem::groups);
    place.batch = static_cast<int>(number) * tile_n;
    place.run_d = run_of<AxisD>(place.phase_d);
    place.run_h = run_of<AxisH>(place.phase_h);
    place.run_w = run_of<AxisW>(place.phase_w);
    return place;
}

/// Accumulators of a lane: [fragment of positions][phase][fragment of channels][register].
using Sums = float[m_fragments][sum_phases][n_fragments][fragment_sums];

/// Columns to the left of the tile's halo, so that a row of the shared tile begins at a whole load of the tensor: a
/// vector, or with boxes 16 bytes.
__device__ __forceinline__ int lead_of(const Place& place) {
    if constexpr (windows) return tile_lead;
    constexpr int whole = boxes ? static_cast<int>(16 / sizeof(LineElement)) : vector;
    if constexpr (channels_last || whole == 1) return 0;
    const int rest = static_cast<int>((place.q_w - AxisW::halo) % whole);
    return rest < 0 ? rest + whole : rest;
}

/// Where position `number` of the rows of fragments lies. There may be more rows than positions: those have no `n` or
/// `h` of the tile.
struct Position {
    int n, d, h, w;
};
__device__ __forceinline__ bool in_tile(const Position& position) {
    return position.n < tile_n && position.h < tile_h;
}
/// Row of its warp that a row of a fragment is: rows of `row_vector` fragments lie side by side.
__device__ __forceinline__ int row_number(int fragment, int row) {
    return fragment / row_vector * (row_vector * fragment_rows) + row * row_vector + fragment % row_vector;
}
__device__ __forceinline__ Position position_of(int number) {
    if constexpr (config::reuse_rows != 0) {
        // The fragments of a warp lie above each other: some of the tile's columns, which are numbered along w, d, n.
        constexpr int warps = (tile_n * tile_d * tile_w + fragment_rows - 1) / fragment_rows;  // side by side
        const int warp = number / warp_rows;
        const int column = warp % warps * fragment_rows + number % fragment_rows;
        return {column / (tile_w * tile_d), column / tile_w % tile_d,
                warp / warps * m_fragments + number / fragment_rows % m_fragments, column % tile_w};
    }
    const int w = number % tile_w;
    return {number / (tile_w * tile_h * tile_d), number / (tile_w * tile_h) % tile_d, number / tile_w % tile_h,
            w - w / warp_rows * overlap};
}
__device__ __forceinline__ Position position_of(int warp, int fragment, int row) {
    return position_of(warp * warp_rows + row_number(fragment, row));
}

}  // namespace tconv::product
