// Asynchronous copies of the operands of quad_product.cuh: lines of neighbours, a line for each channel of a chunk.
#pragma once

#include "quad_product.cuh"

namespace tconv::quads {

/// Where a thread's pieces of a tile's operand begin: the j-th of its places, in the first channel. Below 0 there is
/// none.
template <int Size, int Width>
struct CopiedLines : Pieces<Size, Width> {
    using P = Pieces<Size, Width>;
    /// Of a copy; 16-bit operands, of which an access has up to 8, are not copied.
    static constexpr int bytes = Width > 4 ? 16 : 4 * Width;

    i64 offset[P::places];

    /// Starts the copies of a chunk that has `channels` channels, `pitch` values apart, and zeros for those that it
    /// lacks; where all chunks are `Whole` it lacks none. `operand` is where the chunk's first channel begins. Nothing
    /// comes to places that there are not, or, with `Zeros`, zeros.
    template <bool Whole, bool Zeros, class T>
    __device__ __forceinline__ void copy(float (&target)[chunk][Size], const T* operand, i64 pitch,
                                         int channels) const {
        if constexpr (P::regular) {
            if (!P::is_mine(0) || (!Zeros && offset[0] < 0)) return;
            // One address, and distances that do not change.
            constexpr int apart = threads / P::line;
            const T* source = operand + offset[0] + P::channel(0) * pitch;
            float* to = &target[P::channel(0)][P::place(0)];
#pragma unroll
            for (int i = 0; i < P::count; ++i) {
                if (!P::is_mine(i)) break;
                const bool valid = (Whole || P::channel(i) < channels) && (!Zeros || offset[0] >= 0);
                copy_async<bytes>(to + i * (apart * Size), valid ? source + i * (apart * pitch) : operand, valid);
            }
        } else {
#pragma unroll
            for (int i = 0; i < P::count; ++i) {
                if (!P::is_mine(i)) break;
                if (!Zeros && offset[i] < 0) continue;
                const bool valid = (Whole || P::channel(i) < channels) && (!Zeros || offset[i] >= 0);
                copy_async<bytes>(&target[P::channel(i)][P::place(i)],
                                  valid ? operand + offset[i] + P::channel(i) * pitch : operand, valid);
            }
        }
    }
};

}  // namespace tconv::quads
