#include "core/phases.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace tconv {

std::vector<Phase> axis_phases(std::int64_t kernel, std::int64_t stride, std::int64_t dilation) {
    assert(kernel >= 1 && stride >= 1 && dilation >= 1);
    std::vector<Phase> phases(static_cast<std::size_t>(stride));
    for (std::int64_t r = 0; r < stride; ++r)
        phases[static_cast<std::size_t>(r)].index = r;
    for (std::int64_t k = 0; k < kernel; ++k) {
        const std::int64_t r = (k * dilation) % stride;
        phases[static_cast<std::size_t>(r)].taps.push_back({k, (k * dilation - r) / stride});
    }
    return phases;
}

TapPattern tap_pattern(std::int64_t stride, std::int64_t dilation) {
    const std::int64_t divisor = std::gcd(stride, dilation);
    const std::int64_t modulus = stride / divisor;
    // Extended Euclid: remainder = coefficient * (dilation / divisor) modulo `modulus` holds for both pairs.
    std::int64_t remainder = dilation / divisor % modulus;
    std::int64_t coefficient = 1;
    std::int64_t next_remainder = modulus;
    std::int64_t next_coefficient = 0;
    while (next_remainder != 0) {
        const std::int64_t quotient = remainder / next_remainder;
        remainder = std::exchange(next_remainder, remainder - quotient * next_remainder);
        coefficient = std::exchange(next_coefficient, coefficient - quotient * next_coefficient);
    }
    return {divisor, modulus == 1 ? 0 : (coefficient % modulus + modulus) % modulus, modulus, dilation / divisor};
}

std::int64_t max_taps(std::int64_t kernel, std::int64_t stride, std::int64_t dilation) {
    const std::int64_t step = stride / std::gcd(stride, dilation);
    return (kernel + step - 1) / step;
}

std::int64_t halo(std::int64_t kernel, std::int64_t stride, std::int64_t dilation) {
    return (kernel - 1) * dilation / stride;
}

}  // namespace tconv
