// The types that a kernel specialised to a problem works with.
#pragma once

#include "tconv.cuh"

namespace tconv {

template <int Bytes, bool Bfloat>
struct ElementOf {
    using type = float;
};
template <>
struct ElementOf<2, false> {
    using type = f16;
};
template <>
struct ElementOf<2, true> {
    using type = bf16;
};
/// Of the problem's tensors.
using Element = ElementOf<problem::element_bytes, problem::bfloat>::type;

template <bool Wide>
struct IndexOf {
    using type = int;
};
template <>
struct IndexOf<true> {
    using type = i64;
};
/// Positions and offsets within one batch entry; 64-bit only where a tensor needs it.
using Index = IndexOf<problem::wide_index>::type;

template <class T>
struct UnsignedOf {
    using type = u32;
};
template <>
struct UnsignedOf<i64> {
    using type = u64;
};

}  // namespace tconv
