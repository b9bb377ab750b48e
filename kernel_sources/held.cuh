// Values that the compiler takes as they are: it neither works them out anew at each use nor keeps what follows from
// them in registers round a loop.
#pragma once

#include "tconv.cuh"

namespace tconv {

#ifdef TCONV_EMULATOR
template <class T>
__device__ __forceinline__ T held(T value) {
    return value;
}
template <class T>
__device__ __forceinline__ T* held_shared(T* address) {
    return address;
}
#else
__device__ __forceinline__ int held(int value) {
    asm volatile("" : "+r"(value));
    return value;
}
template <class T>
__device__ __forceinline__ T* held(T* address) {
    asm volatile("" : "+l"(address));
    return address;
}
/// The same for an address in shared memory.
template <class T>
__device__ __forceinline__ T* held_shared(T* address) {
    u32 shared = static_cast<u32>(__cvta_generic_to_shared(address));
    asm volatile("" : "+r"(shared));
    return static_cast<T*>(__cvta_shared_to_generic(shared));
}
#endif

/// No change, which the assembler cannot know: sums that are stored in vectors would else lie in neighbouring registers
/// all along, and more of the multiplications read two registers of one bank.
template <int Count>
__device__ __forceinline__ void loosen(float* sums) {
#pragma unroll
    for (int i = 0; i < Count; ++i)
        sums[i] = __uint_as_float(__float_as_uint(sums[i]) ^ blockIdx.y);
}

}  // namespace tconv
