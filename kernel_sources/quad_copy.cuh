// Asynchronous copies of the operands of quad_product.cuh: lines of neighbours, a line for each channel of a chunk.
#pragma once

#include "quad_product.cuh"

namespace tconv::quads {

/// A thread's pieces of a tile's operand, chunk after chunk.
template <class T, int Size, int Width>
struct CopiedLines : Pieces<Size, Width> {
    using P = Pieces<Size, Width>;
    /// Of a copy; 16-bit operands, of which an access has up to 8, are not copied.
    static constexpr int bytes = Width > 4 ? 16 : 4 * Width;
    /// Pieces at one place of channels that are equally far apart have one address, and distances that do not change.
    static constexpr int apart = threads / P::line;

    const T* source[P::places];

    /// The pieces at the j-th of the thread's places begin with the first channel's value there, `first`, if there is
    /// one.
    __device__ __forceinline__ void place_at(int j, bool inside, const T* first, i64 pitch) {
        source[j] = inside ? first + P::channel(j) * pitch : nullptr;
    }

    /// Starts the copies of a chunk that has `channels` channels, `pitch` values apart, and zeros for those that it
    /// lacks; where all chunks are `Whole` it lacks none. Then the next chunk is at hand. Nothing comes to places that
    /// there are not, or, with `Zeros`, zeros; `operand` is an address that could be read.
    template <bool Whole, bool Zeros>
    __device__ __forceinline__ void copy(float (&target)[chunk][Size], const T* operand, i64 pitch, int channels) {
        float* to = &target[0][0] + threadIdx.x * Width;
#pragma unroll
        for (int j = 0; j < P::places; ++j) {
            if (!P::is_mine(j) || (!Zeros && source[j] == nullptr)) continue;
            const bool inside = !Zeros || source[j] != nullptr;
#pragma unroll
            for (int i = j; i < (P::regular ? P::count : j + 1); ++i) {
                if (!P::is_mine(i)) break;
                const bool valid = inside && (Whole || P::channel(i) < channels);
                const T* from = source[j] + (i - j) * (apart * pitch);
                copy_async<bytes>(to + i * (threads * Width), valid ? from : operand, valid);
            }
            source[j] += chunk * pitch;
        }
    }
};

}  // namespace tconv::quads
