// What four warps along the positions start together: the products of one fragment of positions each, from registers,
// by the weights in shared memory.
#pragma once

#include "mma_input.cuh"
#include "wgmma_registers.cuh"

namespace tconv::product {

/// Phases whose columns are one product: all, where each has a tap at every offset and their number of columns is one
/// that products have; or each alone.
constexpr bool side_by_side = product_phases > 1;
constexpr int product_columns = fragment_columns * n_fragments * product_phases;
using ProductSums = float[product_columns / 2];

/// Bytes from one fragment of weights to the next, and to a fragment's low parts.
constexpr int fragment_bytes = 4 * fragment_words;
constexpr int low_bytes = k_plain_eight;

/// What the products of a chunk read.
struct Chunk {
    const u32* stage;
    const Rows& rows;
    const Place& place;
    int count_d, count_w, count_h;
};

template <class T>
__device__ __forceinline__ void add(ProductSums& sums, const u32 (&a)[4], PlainOperand b) {
    wgmma_add<T, product_columns, fragment_bytes>(sums, a, b);
}

/// Products of a step's values with a weight: one, or those of high and low parts.
template <Step S>
constexpr int parts = S == Step::single ? 2
                      : split           ? 3
                                        : 1;

/// Small products first.
template <Step S>
__device__ __forceinline__ void start_part(int part, ProductSums& sums, const InputFragment& input,
                                           PlainOperand weights) {
    if constexpr (S == Step::single) {
        add<bf16>(sums, input.high, part == 0 ? plain_after(weights, low_bytes) : weights);
    } else if constexpr (split) {
        add<Part>(sums, part == 0 ? input.low : input.high, part == 1 ? plain_after(weights, low_bytes) : weights);
    } else {
        add<Operand>(sums, input.high, weights);
    }
}

/// Starts a part of the products of one fragment of positions at one offset along the height; `weights` moves on.
template <Step S>
__device__ __forceinline__ void start_tap(int part, Sums& sums, int m, const InputFragment& input, const Reach& reach,
                                          u32 mask_h, PlainOperand& weights, bool multiplies) {
    constexpr int phase_bytes = 4 * tap_words * product_phases;
#pragma unroll
    for (int phase = 0; phase < sum_phases / product_phases; ++phase) {
        if (!packed && !side_by_side && !has_tap(phase, reach.mask_d, mask_h, reach.mask_w)) continue;
        if (multiplies) start_part<S>(part, reinterpret_cast<ProductSums&>(sums[m][phase]), input, weights);
        weights = plain_after(weights, phase_bytes);
    }
}

/// Starts all products of row `row` of fragments at an offset, or all offsets along the height. Those of the same sums
/// are not next to each other.
template <Step S>
__device__ __forceinline__ void start_row(Sums& sums, int row, const InputFragment& input, const Reach& reach, int h,
                                          PlainOperand first_weights) {
#pragma unroll
    for (int part = 0; part < parts<S>; ++part) {
        PlainOperand weights = first_weights;
        if constexpr (reuse_rows) {
#pragma unroll
            for (int offset = 0; offset < AxisH::offsets; ++offset) {
                const int m = row - (AxisH::offsets - 1 - offset);
                start_tap<S>(part, sums, m, input, reach, AxisH::mask(offset), weights, m >= 0 && m < m_fragments);
            }
        } else {
            start_tap<S>(part, sums, row, input, reach, AxisH::mask(h), weights, true);
        }
    }
}

/// Ends the products of one fragment, and frees the slot of the ring that the next one takes.
__device__ __forceinline__ void end_group() {
    wgmma_commit();
    wgmma_wait<ring_fragments - 1>();
}

/// Waits for all products of an unrolled body. The assembler (CUDA 13.0) gives the registers of A to what follows once
/// a product has started, but for what follows in the same body before a wait; in the body's next round the address of
/// the next load was written to registers that a product in flight still read.
__device__ __forceinline__ void end_body() {
    wgmma_wait<0>();
}

/// Whether a warp looks up from its products in the midst of a body: once those of the body before are complete, and
/// `groups` of its own are started, some times.
__device__ constexpr bool looks_up(int groups, int times) {
    return groups + 1 >= ring_fragments && groups + 1 < ring_fragments + times;
}

}  // namespace tconv::product
