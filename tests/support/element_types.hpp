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

/// The nearest number of a type's format, ties to even, for numbers within its normal range.
[[nodiscard]] inline double rounded_to(DataType type, double value) {
    if (type == DataType::f32) return static_cast<double>(static_cast<float>(value));
    int exponent = 0;
    std::frexp(value, &exponent);
    const double unit = std::ldexp(1.0, exponent - 1 - (type == DataType::f16 ? 10 : 7));
    return std::nearbyint(value / unit) * unit;
}

/// The reverse of value_of_bits for a normal number of the format, or zero.
[[nodiscard]] inline std::uint16_t bits_of_value(DataType type, double value) {
    if (value == 0) return 0;
    const int mantissa_bits = type == DataType::f16 ? 10 : 7;
    const int bias = type == DataType::f16 ? 15 : 127;
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    const auto mantissa = static_cast<int>(std::ldexp(fraction, mantissa_bits + 1)) - (1 << mantissa_bits);
    const int bits = (value < 0 ? 0x8000 : 0) | (exponent - 1 + bias) << mantissa_bits | mantissa;
    return static_cast<std::uint16_t>(bits);
}

}  // namespace tconv::test
