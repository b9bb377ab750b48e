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

/// The same where a condition holds; the elements are read in any case, so that the store needs no branch.
template <int N>
__device__ __forceinline__ void copy_elements_if(bool condition, Element* target, const Element* staged) {
    constexpr int words = N * static_cast<int>(sizeof(Element)) / 4;
    if constexpr (words == 0) {
        if (condition) *target = *staged;
    } else {
        const auto values = load<words>(reinterpret_cast<const float*>(staged));
        if (condition) store_global<words>(reinterpret_cast<float*>(target), values);
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

/// Four neighbours at a multiple of their size.
__device__ __forceinline__ void put_quad(float* target, const float* values) {
    store<4>(target, Floats<4>{{values[0], values[1], values[2], values[3]}});
}
template <class T>
__device__ __forceinline__ void put_quad(T* target, const T* values) {
    Floats<2> words;
    for (int i = 0; i < 2; ++i)
        words.v[i] = __uint_as_float(values[2 * i].bits | static_cast<u32>(values[2 * i + 1].bits) << 16);
    store<2>(reinterpret_cast<float*>(target), words);
}

/// Where element `offset` of a tensor lies in memory, counted in elements: its lower bits say where in a vector.
__device__ __forceinline__ u32 element_number(const Element* tensor, i64 offset) {
    return static_cast<u32>(reinterpret_cast<u64>(tensor) / sizeof(Element) + static_cast<u64>(offset));
}

// A row is written in whole vectors, numbered from the first boundary on, and at its ends in smaller pieces.

/// The first element of vector `number` of a row of which [begin, end) is written, or -1 where it is not whole. Element
/// 0 is `phase` elements behind a boundary.
template <int Vector>
__device__ __forceinline__ int vector_of(int begin, int end, int phase, int number) {
    const int first = (-phase & (Vector - 1)) + number * Vector;
    return first >= begin && first + Vector <= end ? first : -1;
}

/// A piece of `size` elements at a multiple of that, or of none.
struct Piece {
    int first;
    int size;
};
/// Pieces of each size below a vector, before the vectors and behind them.
template <int Vector>
constexpr int edge_pieces = Vector == 8   ? 6
                            : Vector == 4 ? 4
                            : Vector == 2 ? 2
                                          : 0;

template <int Vector>
__device__ __forceinline__ Piece edge_piece(int begin, int end, int phase, int number) {
    if (begin >= end) return {0, 0};
    const auto boundary = [](int element, int size) { return (element + size - 1) & -size; };
    const int from = begin + phase;
    const int to = end + phase;
    // Sizes rise up to the boundary of the largest size that the row has, and fall behind the last vector.
    int middle = boundary(from, Vector);
#pragma unroll
    for (int size = Vector / 2; size > 0; size /= 2)
        if (middle > to) middle = boundary(from, size);
    const int last = (to & -Vector) > middle ? to & -Vector : middle;
    const int size = 1 << number / 2;
    const bool before = number % 2 == 0;
    const int count = before ? middle - from : to - last;
    const int first = before ? from + (count & (size - 1)) : last + (count & (-2 * size));
    return {first - phase, count & size};
}

template <int Vector>
__device__ __forceinline__ void copy_piece(Element* target, const Element* staged, int size) {
    if (size == 1) copy_elements<1>(target, staged);
    if (Vector > 2 && size == 2) copy_elements<2>(target, staged);
    if (Vector > 4 && size == 4) copy_elements<4>(target, staged);
}

}  // namespace tconv
