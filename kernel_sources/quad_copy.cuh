// Asynchronous copies of the operands of quad_product.cuh: lines of neighbours, a line for each channel of a chunk.
#pragma once

#include "quad_product.cuh"

namespace tconv::quads {

/// Piece i of a thread is `Width` values of one channel. Where the threads are whole lines a thread's pieces lie at one
/// place of channels that are equally far apart: one address and distances that do not change.
template <int Size, int Width>
struct CopiedLines {
    static constexpr int line = Size / Width;
    static constexpr int count = pieces_of<Size, Width>;
    static constexpr bool regular = threads % line == 0;
    static constexpr int places = regular ? 1 : count;
    static constexpr int apart = threads / line;
    /// Of a copy; 16-bit operands, of which an access has up to 8, are not copied.
    static constexpr int bytes = Width > 4 ? 16 : 4 * Width;

    __device__ __forceinline__ static int channel(int i) {
        const int thread = static_cast<int>(threadIdx.x);
        return regular ? thread / line + i * apart : (i * threads + thread) / line;
    }
    __device__ __forceinline__ static int place(int i) {
        const int thread = static_cast<int>(threadIdx.x);
        return (regular ? thread : i * threads + thread) % line * Width;
    }

    /// Starts the copies of a chunk that has `channels` channels, `pitch` values apart, and zeros for those that it
    /// lacks; where all chunks are `Whole` it lacks none. The chunk's first channel lies at `operand` + offset[j] for
    /// the j-th of the thread's places. Nothing comes to those whose offset is below 0, or, with `Zeros`, zeros.
    template <bool Whole, bool Zeros, class T>
    __device__ __forceinline__ static void copy(float (&target)[chunk][Size], const T* operand,
                                                const i64 (&offset)[places], i64 pitch, int channels) {
        if constexpr (regular) {
            if (!Zeros && offset[0] < 0) return;
            const T* source = operand + offset[0] + channel(0) * pitch;
            float* to = &target[channel(0)][place(0)];
#pragma unroll
            for (int i = 0; i < count; ++i) {
                if (chunk % apart != 0 && channel(i) >= chunk) break;
                const bool valid = (Whole || channel(i) < channels) && (!Zeros || offset[0] >= 0);
                copy_async<bytes>(to + i * (apart * Size), valid ? source + i * (apart * pitch) : operand, valid);
            }
        } else {
#pragma unroll
            for (int i = 0; i < count; ++i) {
                if (channel(i) >= chunk) break;
                if (!Zeros && offset[i] < 0) continue;
                const bool valid = (Whole || channel(i) < channels) && (!Zeros || offset[i] >= 0);
                copy_async<bytes>(&target[channel(i)][place(i)],
                                  valid ? operand + offset[i] + channel(i) * pitch : operand, valid);
            }
        }
    }
};

}  // namespace tconv::quads
