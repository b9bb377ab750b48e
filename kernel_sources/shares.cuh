// Outputs from their shares. A share is the product of all input channels at a position of the input with one tap:
// output o of an axis gets those of all positions q and taps k with o + padding = q * stride + k * dilation.
//
// Outputs are counted in units of `stride`: number v of all units u has the same taps, and the position of its tap j is
// u minus a shift that depends on v and j alone.
//
// A block has the shares of windows: whole images, or slices of them along the outermost axis, neighbours of which have
// some positions in common, so that all shares of an output are of one window. They lie in shared memory as [output
// channel][tap][row], rows being positions, window after window; behind the rows is a zero for positions outside the
// image.
#pragma once

#include "element_vectors.cuh"
#include "phases.cuh"

namespace tconv::shares {

constexpr int taps = static_cast<int>(problem::kernel_d * problem::kernel_h * problem::kernel_w);
/// Positions of an image.
constexpr i64 positions = problem::input_d * problem::input_h * problem::input_w;
constexpr i64 output_volume = problem::output_d * problem::output_h * problem::output_w;

template <i64 Input, i64 Kernel, i64 Stride, i64 Padding, i64 Dilation, i64 Divisor, i64 Inverse, i64 Output>
struct Axis {
    using Phases = AxisPhases<Kernel, Stride, Dilation, Divisor, Inverse>;
    static constexpr int input = static_cast<int>(Input);
    static constexpr int kernel = static_cast<int>(Kernel);
    static constexpr int stride = static_cast<int>(Stride);
    static constexpr int output = static_cast<int>(Output);
    static constexpr int max_taps = static_cast<int>(Phases::max_taps);
    /// Runs of `stride` outputs, the last of which may be short.
    static constexpr int units = static_cast<int>((Output + Stride - 1) / Stride);
    static constexpr bool whole_units = Output % Stride == 0;
    /// Of all taps.
    static constexpr int least_shift = -static_cast<int>((Padding + Stride - 1) / Stride);
    static constexpr int shifts =
        static_cast<int>(((Kernel - 1) * Dilation - least_shift * Stride - Padding) / Stride) + 1;
    static constexpr int most_shift = least_shift + shifts - 1;

    /// The taps of output number `v` of a run.
    __device__ static constexpr Taps taps(int v) { return Phases::taps((v + Padding) % Stride); }
    __device__ static constexpr int tap(int v, int j) {
        return taps(v).first + j * static_cast<int>(Phases::kernel_step);
    }
    __device__ static constexpr int shift(int v, int j) {
        return taps(v).offset + j * static_cast<int>(Phases::offset_step) - static_cast<int>((v + Padding) / Stride);
    }
    __device__ static constexpr bool inside(int position) { return position >= 0 && position < input; }
};
#define TCONV_AXIS(axis)                                                                                 \
    Axis<problem::input_##axis, problem::kernel_##axis, problem::stride_##axis, problem::padding_##axis, \
         problem::dilation_##axis, problem::tap_divisor_##axis, problem::tap_inverse_##axis, problem::output_##axis>
using AxisD = TCONV_AXIS(d);
using AxisH = TCONV_AXIS(h);
using AxisW = TCONV_AXIS(w);
#undef TCONV_AXIS

constexpr bool whole_images = config::whole != 0;
/// The axis along which images are sliced, the number of slices, and of each the units of outputs along it.
constexpr int slices = config::slices;
constexpr int slice_units = config::slice_units;
constexpr int slice_axis = whole_images || problem::input_d > 1 ? 0 : problem::input_h > 1 ? 1 : 2;
constexpr int line = static_cast<int>(slice_axis == 0   ? problem::input_h * problem::input_w
                                      : slice_axis == 1 ? problem::input_w
                                                        : 1);
constexpr int slice_lead = slice_axis == 0   ? AxisD::most_shift
                           : slice_axis == 1 ? AxisH::most_shift
                                             : AxisW::most_shift;
/// Slices begin at multiples of 16 bytes.
constexpr int k_aligned_positions = 16 / static_cast<int>(sizeof(Element));

/// The first position of a slice of an image; it may lie before the image.
__device__ __forceinline__ int first_position(int slice) {
    return whole_images ? 0 : (slice * slice_units - slice_lead) * line & -k_aligned_positions;
}

/// Units of outputs of a window.
constexpr int window_units =
    static_cast<int>(whole_images      ? static_cast<i64>(AxisD::units) * AxisH::units * AxisW::units
                     : slice_axis == 0 ? static_cast<i64>(slice_units) * AxisH::units * AxisW::units
                     : slice_axis == 1 ? static_cast<i64>(slice_units) * AxisW::units
                                       : slice_units);

/// Shares of a tap lie together: of that many rows and the zero. With rows in whole quads neither eight rows of two
/// columns nor what lanes read along the rows meet in a bank.
constexpr int pitch(int rows) {
    return rows + 4;
}

/// `stride` outputs along each axis.
struct Unit {
    bool exists;
    int image;
    int d, h, w;
    int row;  // where the input position of the same number is
};
/// The number of a unit along an axis; along the outermost one those of a slice begin with number `from`.
template <class A>
__device__ __forceinline__ int split_unit(int& rest, bool outermost, int from) {
    if (outermost) return from + rest;
    const int own = rest % A::units;
    rest /= A::units;
    return own;
}
/// Unit `number` of the windows from `first_window` on, each of which has `window_rows` rows; of all images there are
/// `windows`.
__device__ __forceinline__ Unit find_unit(int number, int first_window, int window_rows, int windows) {
    const int window = number / window_units;
    const int numbered = first_window + window;
    const int slice = numbered % slices;
    int rest = number % window_units;
    const int from = whole_images ? 0 : slice * slice_units;
    Unit unit{};
    unit.image = numbered / slices;
    unit.w = split_unit<AxisW>(rest, slice_axis == 2, from);
    if constexpr (slice_axis < 2) unit.h = split_unit<AxisH>(rest, slice_axis == 1, from);
    if constexpr (slice_axis < 1) unit.d = from + rest;
    unit.exists = numbered < windows && unit.d < AxisD::units && unit.h < AxisH::units && unit.w < AxisW::units;
    unit.row = window * window_rows + (unit.d * AxisH::input + unit.h) * AxisW::input + unit.w - first_position(slice);
    return unit;
}

/// Rows of all shifts, or the row of zeros.
template <int ZeroRow>
struct ShiftedRows {
    static constexpr int count = AxisD::shifts * AxisH::shifts * AxisW::shifts;
    int rows[count];

    __device__ __forceinline__ int row(int d, int h, int w) const {
        return rows[((d - AxisD::least_shift) * AxisH::shifts + h - AxisH::least_shift) * AxisW::shifts + w -
                    AxisW::least_shift];
    }
    __device__ __forceinline__ explicit ShiftedRows(const Unit& unit) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int d = i / (AxisH::shifts * AxisW::shifts) + AxisD::least_shift;
            const int h = i / AxisW::shifts % AxisH::shifts + AxisH::least_shift;
            const int w = i % AxisW::shifts + AxisW::least_shift;
            const bool inside = AxisD::inside(unit.d - d) && AxisH::inside(unit.h - h) && AxisW::inside(unit.w - w);
            rows[i] = inside ? unit.row - (d * AxisH::input + h) * AxisW::input - w : ZeroRow;
        }
    }
    /// Goes on to shares that lie so many later.
    __device__ __forceinline__ void skip(int shares) {
#pragma unroll
        for (int& row : rows)
            row += shares;
    }
};

/// The sum of the shares of an output, which is number `v_d`, `v_h`, `v_w` of its unit along the axes, and the bias.
/// `shares` are those of its channel.
template <int Rows>
__device__ __forceinline__ float add(const float* shares, const ShiftedRows<Rows>& at, int v_d, int v_h, int v_w,
                                     float bias) {
    const Taps taps_d = AxisD::taps(v_d);
    const Taps taps_h = AxisH::taps(v_h);
    const Taps taps_w = AxisW::taps(v_w);
    float sum = bias;
#pragma unroll
    for (int j_d = 0; j_d < AxisD::max_taps; ++j_d) {
#pragma unroll
        for (int j_h = 0; j_h < AxisH::max_taps; ++j_h) {
#pragma unroll
            for (int j_w = 0; j_w < AxisW::max_taps; ++j_w) {
                if (j_d >= taps_d.count || j_h >= taps_h.count || j_w >= taps_w.count) continue;
                const int tap = (AxisD::tap(v_d, j_d) * AxisH::kernel + AxisH::tap(v_h, j_h)) * AxisW::kernel +
                                AxisW::tap(v_w, j_w);
                const float share = shares[tap * pitch(Rows) + at.row(AxisD::shift(v_d, j_d), AxisH::shift(v_h, j_h),
                                                                      AxisW::shift(v_w, j_w))];
                sum = problem::bias || j_d + j_h + j_w > 0 ? sum + share : share;
            }
        }
    }
    return sum;
}

/// Outputs of one store.
constexpr int store_run = config::store_run;

/// The outputs of a unit in one channel; `target` is where the first of them goes.
template <int Rows>
__device__ __forceinline__ void store_unit(const float* shares, const ShiftedRows<Rows>& at, const Unit& unit,
                                           float bias, Element* target) {
#pragma unroll
    for (int v_d = 0; v_d < AxisD::stride; ++v_d) {
#pragma unroll
        for (int v_h = 0; v_h < AxisH::stride; ++v_h) {
            if (!AxisD::whole_units && unit.d * AxisD::stride + v_d >= AxisD::output) continue;
            if (!AxisH::whole_units && unit.h * AxisH::stride + v_h >= AxisH::output) continue;
            float sums[AxisW::stride];
#pragma unroll
            for (int v_w = 0; v_w < AxisW::stride; ++v_w)
                sums[v_w] = add<Rows>(shares, at, v_d, v_h, v_w, bias);
#pragma unroll
            for (int v_w = 0; v_w < AxisW::stride; v_w += store_run) {
                if (!AxisW::whole_units && unit.w * AxisW::stride + v_w >= AxisW::output) continue;
                store_whole<store_run>(target + (v_d * AxisH::output + v_h) * AxisW::output + v_w, &sums[v_w]);
            }
        }
    }
}

/// Threads that have a unit each; where there are enough, several have those of different channels.
template <int Threads, int Units>
struct Lanes {
    static constexpr int units = Units >= Threads ? Threads : (Units + 31) / 32 * 32;
    static constexpr int channels = Threads / units;
};

/// Where the first output of a unit is in channel 0.
__device__ __forceinline__ Element* first_output(Element* output, const Unit& unit) {
    const int corner =
        (unit.d * AxisD::stride * AxisH::output + unit.h * AxisH::stride) * AxisW::output + unit.w * AxisW::stride;
    return output + (static_cast<i64>(unit.image) * problem::out_channels * output_volume + corner);
}

}  // namespace tconv::shares
