// Rows of the output on their way through shared memory. A row is staged so that its elements lie as they do in the
// tensor, seen from the last boundary of a vector: every aligned vector of the tensor is one of shared memory too,
// wherever the row begins.
#pragma once

#include "elements.cuh"

namespace tconv {

/// Copies N elements from shared memory to the tensor in one access; both addresses are multiples of its size. By way
/// of values the compiler takes the access apart.
template <int N>
__device__ __forceinline__ void copy_elements(Element* target, const Element* staged) {
    constexpr int words = N * static_cast<int>(sizeof(Element)) / 4;
    if constexpr (words == 0) {
        *target = *staged;
    } else {
#ifdef TCONV_EMULATOR
        store<words>(reinterpret_cast<float*>(target), load<words>(reinterpret_cast<const float*>(staged)));
#else
        *reinterpret_cast<Floats<words>*>(target) = *reinterpret_cast<const Floats<words>*>(staged);
#endif
    }
}

/// Two neighbours at a multiple of their size.
__device__ __forceinline__ void put_pair(float* target, float first, float second) {
    store<2>(target, Floats<2>{{first, second}});
}
template <class T>
__device__ __forceinline__ void put_pair(T* target, T first, T second) {
    const u32 word = first.bits | static_cast<u32>(second.bits) << 16;
    store<1>(reinterpret_cast<float*>(target), Floats<1>{{__uint_as_float(word)}});
}

/// Elements from the last boundary of VECTOR elements to element `offset` of a tensor.
template <int Vector>
__device__ __forceinline__ u32 vector_phase(const Element* tensor, i64 offset) {
    return static_cast<u32>(reinterpret_cast<u64>(tensor) / sizeof(Element) + static_cast<u64>(offset)) & (Vector - 1);
}

/// The first element of piece `number` of a row of which [begin, end) is written, or -1 where there is none; element 0
/// is `phase` elements behind a boundary. Pieces of a whole vector are numbered from the first boundary on. Of each
/// smaller size there are two: one before the vectors, one behind them.
template <int Vector, int Size>
__device__ __forceinline__ int piece_of(int begin, int end, int phase, int number) {
    if constexpr (Size == Vector) {
        const int first = (-phase & (Vector - 1)) + number * Vector;
        return first >= begin && first + Vector <= end ? first : -1;
    } else {
        if (begin >= end) return -1;
        const auto boundary = [](int element, int size) { return (element + size - 1) & -size; };
        const int from = begin + phase;
        const int to = end + phase;
        // Sizes rise up to the boundary of the largest size that the row has, and fall behind the last vector.
        int middle = boundary(from, Vector);
#pragma unroll
        for (int size = Vector / 2; size > 0; size /= 2)
            if (middle > to) middle = boundary(from, size);
        if (number == 0) {
            const int count = middle - from;
            return (count & Size) != 0 ? from + (count & (Size - 1)) - phase : -1;
        }
        const int last = (to & -Vector) > middle ? to & -Vector : middle;
        const int count = to - last;
        return (count & Size) != 0 ? last + (count & -2 * Size) - phase : -1;
    }
}

}  // namespace tconv
