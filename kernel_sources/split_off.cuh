#pragma once

#include "tconv.cuh"

namespace tconv {

/// Takes a digit below `count` off a running number. The hopper kernels have their own, by the remainder: of that the
/// compiler makes different code.
template <class Digit = int, class Number>
__device__ __forceinline__ Digit split_off(Number& number, i64 count) {
    const auto base = static_cast<Number>(count);
    const Number rest = number / base;
    const Number digit = number - rest * base;
    number = rest;
    return static_cast<Digit>(digit);
}

}  // namespace tconv
