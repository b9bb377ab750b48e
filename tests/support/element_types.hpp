#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/data_type.hpp"

namespace tconv::test {

/// Value of a half-precision or bfloat16 bit pattern, from the definition of the formats.
[[nodiscard]] inline double value_of_bits(DataType type, std::uint16_t bits) {
    const int mantissa_bits = type == DataType::f16 ? 10 : 7;
    const int exponent_bits = 15 - mantissa_bits;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return mantissa == 0 ? sign * INFINITY : NAN;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

}  // namespace tconv::test
