// Where joined phases of the hopper family's kernels have taps in other steps than others: parts of a tile, of which a
// step multiplies some.
#pragma once

#include "hopper_axis.cuh"

namespace tconv::hopper {

/// Parts [begin, end) of an axis.
struct PartRange {
    int begin, end;
    __device__ constexpr int count() const { return end - begin; }
    __device__ constexpr bool has(int part) const { return begin <= part && part < end; }
};

/// The slots of a joined axis as `Count` parts, each of some that have taps in the same steps: of a kernel that is no
/// whole number of strides the last tap is that of the first few phases alone, and where the axis is aligned some slots
/// begin a step later. One part takes part in all steps.
template <class Axis, int Count>
struct Parts {
    static constexpr int count = Count;
    static constexpr int slots = Axis::slots / Count;  // of a part
    static constexpr int steps = Axis::max_taps;
    static_assert(Axis::slots % Count == 0 && (Count == 1 || Axis::kernel >= Axis::stride),
                  "parts are whole, and every phase has a tap");

    __device__ static constexpr StepRange steps_of(int part) {
        return Count == 1 ? StepRange{0, steps} : Axis::slot_steps(part * slots);
    }
    /// Parts that have a tap in a step.
    __device__ static constexpr PartRange at(int step) {
        if (Count == 1) return {0, 1};
        PartRange range{Count, 0};
        for (int part = 0; part < Count; ++part) {
            if (step < steps_of(part).begin || step >= steps_of(part).end) continue;
            if (part < range.begin) range.begin = part;
            range.end = part + 1;
        }
        return range;
    }
    /// Those of all steps before.
    __device__ static constexpr int before(int step) {
        if (Count == 1) return step;
        int sum = 0;
        for (int part = 0; part < Count; ++part) {
            const StepRange own = steps_of(part);
            sum += step <= own.begin ? 0 : (step < own.end ? step : own.end) - own.begin;
        }
        return sum;
    }
};
using PartsD = Parts<AxisD, config::column_parts_d>;
using PartsH = Parts<AxisH, config::column_parts_h>;
using PartsW = Parts<AxisW, config::column_parts_w>;

/// A tile is parts side by side, each of the same columns at some slots: a step multiplies, and has weights of, those
/// parts alone that have a tap in it along every axis.
constexpr int parts = PartsD::count * PartsH::count * PartsW::count;

/// A part along each axis. Neighbours are those along the width, whose outputs lie together, or, where these begin with
/// unlike steps, along the height.
struct PartPlace {
    int d, h, w;
};
__device__ constexpr int number_of(const PartPlace& part, const PartPlace& counts) {
    if (AxisW::aligned) return (part.w * counts.d + part.d) * counts.h + part.h;
    return (part.d * counts.h + part.h) * counts.w + part.w;
}
__device__ constexpr int part_number(const PartPlace& part) {
    return number_of(part, {PartsD::count, PartsH::count, PartsW::count});
}
__device__ constexpr PartPlace part_at(int number) {
    constexpr int step_h = AxisW::aligned ? 1 : PartsW::count;
    constexpr int step_d = step_h * PartsH::count;
    constexpr int step_w = AxisW::aligned ? step_d * PartsD::count : 1;
    return {number / step_d % PartsD::count, number / step_h % PartsH::count, number / step_w % PartsW::count};
}

/// The parts of a step.
struct StepParts {
    PartRange d, h, w;
    __device__ constexpr int count() const { return d.count() * h.count() * w.count(); }
    /// How many come before part `part`, which is one of them.
    __device__ constexpr int before(int part) const {
        const PartPlace at = part_at(part);
        return number_of({at.d - d.begin, at.h - h.begin, at.w - w.begin}, {d.count(), h.count(), w.count()});
    }
    __device__ constexpr bool has(int part) const {
        const PartPlace at = part_at(part);
        return d.has(at.d) && h.has(at.h) && w.has(at.w);
    }
};
__device__ constexpr StepParts step_parts(int j_d, int j_h, int j_w) {
    return {PartsD::at(j_d), PartsH::at(j_h), PartsW::at(j_w)};
}
/// Parts of the steps of a plane of taps that come before a step, of all parts along the depth one.
__device__ constexpr int plane_parts_before(int j_h, int j_w, int steps_w) {
    return PartsH::before(j_h) * PartsW::before(steps_w) + PartsH::at(j_h).count() * PartsW::before(j_w);
}
/// Parts of all steps of one block of channels that come before those of a step, where a tile has so many steps along
/// height and width.
__device__ constexpr int parts_before(int j_d, int j_h, int j_w, int steps_h, int steps_w) {
    return PartsD::before(j_d) * PartsH::before(steps_h) * PartsW::before(steps_w) +
           PartsD::at(j_d).count() * plane_parts_before(j_h, j_w, steps_w);
}

}  // namespace tconv::hopper
