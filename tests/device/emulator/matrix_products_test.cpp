#include "device/emulator/matrix_products.hpp"

#include <array>
#include <cmath>
#include <cstdint>

#include "tests/catch.hpp"
#include "tests/support/element_types.hpp"

using namespace tconv;
using emulator::WarpOperands;

namespace {

using Registers = std::array<std::array<unsigned, 4>, 32>;

/// Sums of a warp's product of A, whose rows have `bits` of 16 bits each at k = 0, and of ones: column 0 is A's.
std::array<float, 16> times_one(tconv_emulator::Element element, const std::array<std::uint16_t, 16>& bits,
                                std::uint16_t one) {
    Registers a{};
    Registers b{};
    for (std::size_t row = 0; row < 8; ++row) {
        a[4 * row][0] = bits[row];
        a[4 * row][1] = bits[row + 8];
    }
    b[0][0] = one;
    std::array<std::array<float, 4>, 32> sums{};
    std::array<WarpOperands, 32> lanes{};
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
        lanes[lane] = {sums[lane].data(), a[lane].data(), b[lane].data()};
    emulator::multiply_warp(element, lanes);
    std::array<float, 16> column{};
    for (std::size_t row = 0; row < 8; ++row) {
        column[row] = sums[4 * row][0];
        column[row + 8] = sums[4 * row][2];
    }
    return column;
}

void check_all_values(tconv_emulator::Element element, DataType type, std::uint16_t one) {
    for (unsigned first = 0; first < 0x10000; first += 16) {
        std::array<std::uint16_t, 16> bits{};
        for (unsigned i = 0; i < 16; ++i)
            bits[i] = static_cast<std::uint16_t>(first + i);
        const std::array<float, 16> found = times_one(element, bits, one);
        for (std::size_t i = 0; i < 16; ++i) {
            const double expected = test::value_of_bits(type, bits[i]);
            const auto value = static_cast<double>(found[i]);
            const bool right = std::isnan(expected) ? std::isnan(value) : value == expected;
            if (!right) FAIL("bits " << bits[i] << " are " << value << ", not " << expected);
        }
    }
}

}  // namespace

TEST_CASE("products of a warp take every value of 16 bits for what it is") {
    check_all_values(tconv_emulator::Element::f16, DataType::f16, 0x3c00);
    check_all_values(tconv_emulator::Element::bf16, DataType::bf16, 0x3f80);
}
