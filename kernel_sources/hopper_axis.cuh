// The axes of the hopper family's kernels: their phases, which are joined, and the boxes that cover their positions.
#pragma once

#include "phases.cuh"

namespace tconv::hopper {

/// The place of a tap: its phase, and its number among that phase's `count`.
struct TapPlace {
    int phase;
    int number;
    int count;
};

/// Steps [begin, end) along an axis.
struct StepRange {
    int begin, end;
};

/// An axis. Joined, its phases are columns of one product, which needs the same offsets in each: a kernel that is no
/// whole number of strides is rounded up by taps whose weights are zero. Otherwise each phase has tiles of its own.
///
/// Output o, position q and phase are tied by o + padding = q * stride + phase. Of an axis that is aligned position q
/// has outputs q * stride + slot instead: phases are turned by the padding, and the last `lead` slots read the input
/// one position further than the others, which begin one step later.
template <i64 Kernel, i64 Stride, i64 Padding, i64 Dilation, i64 Divisor, i64 Inverse, i64 Input, i64 Output, int Box,
          bool Join, bool Align>
struct Axis {
    using Phases = AxisPhases<Kernel, Stride, Dilation, Divisor, Inverse>;
    static constexpr bool joined = Join && Stride > 1 && Dilation == 1;
    static constexpr int stride = static_cast<int>(Stride);
    static constexpr int padding = static_cast<int>(Padding);
    static constexpr int dilation = static_cast<int>(Dilation);
    static constexpr int kernel = static_cast<int>(Kernel);
    static constexpr int input = static_cast<int>(Input);
    static constexpr int output = static_cast<int>(Output);
    static constexpr int box = Box;
    static constexpr int slots = joined ? stride : 1;    // phases of a tile
    static constexpr int classes = joined ? 1 : stride;  // phases with tiles of their own
    static constexpr bool aligned = joined && Align;
    static constexpr int lead = aligned ? static_cast<int>(Padding % Stride) : 0;
    static_assert(!aligned || lead > 0, "without padding phases are aligned anyhow");
    /// The output of position 0 at phase or slot 0 lies so far before the first.
    static constexpr int before = aligned ? 0 : padding;
    static constexpr int phase_taps = static_cast<int>(Phases::max_taps);
    /// Steps along K for the taps of a phase, or of all slots.
    static constexpr int max_taps = phase_taps + (aligned && kernel - (phase_taps - 1) * stride > lead ? 1 : 0);
    static constexpr int offset_step = static_cast<int>(Phases::offset_step);
    /// The kernel with the taps that joined phases add to it.
    static constexpr int padded_kernel = joined ? max_taps * stride : kernel;
    /// Positions that the taps of a phase reach besides the first one's.
    static constexpr int halo = (max_taps - 1) * offset_step;

    /// First position that has an output of phase `phase`, or of any phase where they are joined.
    __device__ static constexpr int first(int phase) {
        if (joined) return before / stride;
        return padding <= phase ? 0 : (padding - phase + stride - 1) / stride;
    }
    /// Boxes that cover the positions of `phase`; a constant, where it is the same for all, spares divisions.
    __device__ static constexpr int pieces(int phase) { return same_pieces() ? pieces_of(0) : pieces_of(phase); }
    __device__ static constexpr bool same_pieces() {
        for (int phase = 1; phase < classes; ++phase) {
            if (pieces_of(phase) != pieces_of(0)) return false;
        }
        return true;
    }
    __device__ static constexpr int most_pieces() {
        int most = 0;
        for (int phase = 0; phase < classes; ++phase)
            most = pieces_of(phase) > most ? pieces_of(phase) : most;
        return most;
    }
    __device__ static constexpr int pieces_of(int phase) { return (positions_of(phase) + box - 1) / box; }
    /// Positions that have an output of phase `phase`.
    __device__ static constexpr int positions_of(int phase) {
        const int last_phase = joined ? 0 : phase;
        if (output - 1 + before < last_phase) return 0;
        const int count = (output - 1 + before - last_phase) / stride - first(phase) + 1;
        return count < 0 ? 0 : count;
    }
    __device__ static constexpr int most_positions() {
        int most = 0;
        for (int phase = 0; phase < classes; ++phase)
            most = positions_of(phase) > most ? positions_of(phase) : most;
        return most;
    }
    /// True where rows of positions, each with the halo before it, may follow one another at a distance of `pitch`: a
    /// tap that reaches into the next row finds zeros there, as behind its own.
    __device__ static constexpr bool rows_follow(int pitch) {
        for (int phase = 0; phase < classes; ++phase) {
            if (taps(phase).count == 0) continue;
            const int wanted = positions_of(phase) + halo;
            const int lead = halo + taps(phase).offset - first(phase);  // zeros before the first input
            if (pitch < wanted && (lead < 0 || pitch < input + lead || pitch < wanted - lead)) return false;
        }
        return true;
    }
    __device__ static constexpr Taps taps(int phase) {
        if (aligned) return {0, max_taps, -(padding / stride + 1)};
        return Phases::taps(phase);
    }
    /// Steps in which a slot of a joined axis has a tap.
    __device__ static constexpr StepRange slot_steps(int slot) {
        const int phase = (slot + lead) % stride;
        const int begin = aligned && phase >= lead ? 1 : 0;
        return {begin, begin + (kernel - phase + stride - 1) / stride};
    }
    /// The tap that a slot of a joined axis would have in step 0, before its first where it begins later.
    __device__ static constexpr int first_tap(int slot) {
        return (slot + lead) % stride - slot_steps(slot).begin * stride;
    }
    __device__ static constexpr TapPlace place_of(int tap) {
        if (joined) {
            const int slot = (tap % stride + stride - lead) % stride;
            return {slot, tap / stride + slot_steps(slot).begin, max_taps};
        }
        const int phase = static_cast<int>(static_cast<i64>(tap) * dilation % stride);
        const Taps all = taps(phase);
        return {phase, (tap - all.first) / static_cast<int>(Phases::kernel_step), all.count};
    }
};

#define TCONV_AXIS(axis, join, align)                                                                             \
    Axis<problem::kernel_##axis, problem::stride_##axis, problem::padding_##axis, problem::dilation_##axis,       \
         problem::tap_divisor_##axis, problem::tap_inverse_##axis, problem::input_##axis, problem::output_##axis, \
         config::box_##axis, join, align>
using AxisD = TCONV_AXIS(d, config::join % 4 >= 3, false);
using AxisH = TCONV_AXIS(h, config::join % 4 >= 2, false);
using AxisW = TCONV_AXIS(w, config::join % 4 >= 1, (config::join >= 4));
#undef TCONV_AXIS

}  // namespace tconv::hopper
