// Matrices of eight rows of eight 16-bit values that a warp moves between shared memory and registers, four at a time
// (compute capability 9.0), each instruction behind one function with a twin for the emulator.
#ifndef TCONV_WARP_MATRICES_CUH
#define TCONV_WARP_MATRICES_CUH

#include "tconv.cuh"

namespace tconv {

/// A lane's values of four matrices: of each those of row lane / 4 at columns lane % 4 * 2 and the next one, which is
/// in the upper half.
struct Matrices {
    u32 words[4];
};

#ifdef TCONV_EMULATOR

namespace warp_matrices {

struct Lane {
    const void* row;
    Matrices matrices;
};
// What the lanes of each warp brought to the move at hand.
TCONV_EMULATOR_STATE Lane lanes[32][32] = {};

inline Lane (&warp())[32] {
    return lanes[(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32];
}

}  // namespace warp_matrices

/// Reads four matrices and turns each: lane i has the address of what becomes column i % 8 of matrix i / 8, in shared
/// memory, a multiple of 16 bytes. A whole warp.
__device__ __forceinline__ Matrices load_matrices_turned(const void* column, int line = __builtin_LINE()) {
    tconv_emulator::check_alignment(column, 16, "column of a matrix", line);
    const int lane = tconv_emulator::lane();
    warp_matrices::Lane(&warp)[32] = warp_matrices::warp();
    warp[lane].row = column;
    __syncwarp(0xffffffffu, line);
    Matrices result{};
    for (int i = 0; i < 4; ++i) {
        for (int half = 0; half < 2; ++half) {
            const u16* values = static_cast<const u16*>(warp[i * 8 + lane % 4 * 2 + half].row);
            result.words[i] |= static_cast<u32>(values[lane / 4]) << (16 * half);
        }
    }
    __syncwarp(0xffffffffu, line);
    return result;
}

/// Writes four matrices as they are: lane i has the address of row i % 8 of matrix i / 8, likewise. Rows that are
/// nobody's may share an address, where either is then.
__device__ __forceinline__ void store_matrices(void* row, const Matrices& matrices, int line = __builtin_LINE()) {
    tconv_emulator::check_alignment(row, 16, "row of a matrix", line);
    const int lane = tconv_emulator::lane();
    warp_matrices::Lane(&warp)[32] = warp_matrices::warp();
    warp[lane].matrices = matrices;
    __syncwarp(0xffffffffu, line);
    for (int i = 0; i < 4; ++i)
        static_cast<u32*>(row)[i] = warp[lane % 8 * 4 + i].matrices.words[lane / 8];
    __syncwarp(0xffffffffu, line);
}

#elif __CUDA_ARCH__ >= 900

__device__ __forceinline__ Matrices load_matrices_turned(const void* column) {
    Matrices result;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(result.words[0]), "=r"(result.words[1]), "=r"(result.words[2]), "=r"(result.words[3])
                 : "r"(static_cast<u32>(__cvta_generic_to_shared(column)))
                 : "memory");
    return result;
}

__device__ __forceinline__ void store_matrices(void* row, const Matrices& matrices) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     static_cast<u32>(__cvta_generic_to_shared(row))),
                 "r"(matrices.words[0]), "r"(matrices.words[1]), "r"(matrices.words[2]), "r"(matrices.words[3])
                 : "memory");
}

#else

// Names for code that is compiled for older devices too, and discarded there.
__device__ Matrices load_matrices_turned(const void* column);
__device__ void store_matrices(void* row, const Matrices& matrices);

#endif

}  // namespace tconv

#endif
