// The types that a kernel specialised to a problem works with.
#pragma once

#include "tconv.cuh"

namespace tconv {

/// `type` is A if `First`, else B.
template <bool First, class A, class B>
struct Either {
    using type = A;
};
template <class A, class B>
struct Either<false, A, B> {
    using type = B;
};

/// Of the problem's tensors.
using Element = Either<problem::element_bytes == 4, float, Either<problem::bfloat, bf16, f16>::type>::type;

/// Positions and offsets within one batch entry; 64-bit only where a tensor needs it.
using Index = Either<problem::wide_index, i64, int>::type;

template <class T>
struct UnsignedOf {
    using type = u32;
};
template <>
struct UnsignedOf<i64> {
    using type = u64;
};

}  // namespace tconv
