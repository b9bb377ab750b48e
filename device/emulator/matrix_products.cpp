#include "device/emulator/matrix_products.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

namespace tconv::emulator {
namespace {

using tconv_emulator::Element;
using tconv_emulator::LeftOperand;
using tconv_emulator::Placement;
using tconv_emulator::Product;

// Vectors of the compiler's: most of the time of an emulated product goes here, in builds that optimise little too.
using Floats = float __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));
using Halves = std::uint16_t __attribute__((vector_size(8)));

/// What one product reads of a row of A or a column of B.
struct Row {
    static constexpr int bytes = 32;
    alignas(16) std::array<unsigned char, bytes> data;

    void load(int at, std::uint64_t address, std::size_t count) {
        std::memcpy(&data[static_cast<std::size_t>(at)], reinterpret_cast<const void*>(address), count);
    }
};

template <Element E>
inline constexpr int k_vectors = E == Element::tf32 ? 2 : 4;

/// The values of a row, of which every one and every product of two is exact in float.
template <Element E>
struct Values {
    std::array<Floats, k_vectors<E>> vectors;

    Values() = default;
    explicit Values(const Row& row) {
        for (std::size_t i = 0; i < vectors.size(); ++i)
            vectors[i] = four(&row.data[i * (Row::bytes / k_vectors<E>)]);
    }

    static Floats four(const unsigned char* from) {
        if constexpr (E == Element::tf32) {
            Words bits;
            std::memcpy(&bits, from, sizeof bits);
            return std::bit_cast<Floats>(bits & 0xffffe000U);
        } else {
            Halves halves;
            std::memcpy(&halves, from, sizeof halves);
            const Words bits = __builtin_convertvector(halves, Words);
            return E == Element::bf16 ? std::bit_cast<Floats>(bits << 16) : from_halves(bits);
        }
    }

    static Floats from_halves(Words bits) {
        const Words magnitude = (bits & 0x7fffU) << 13;
        // The exponent's bias is 112 less than a float's; a subnormal number becomes a normal one.
        const Words scaled = std::bit_cast<Words>(std::bit_cast<Floats>(magnitude) * 0x1p112F);
        const Words infinite = std::bit_cast<Words>(magnitude >= (31U << 23)) & 0x7f800000U;
        return std::bit_cast<Floats>(scaled | infinite | (bits & 0x8000U) << 16);
    }

    [[nodiscard]] float times(const Values& other) const {
        Floats sum = vectors[0] * other.vectors[0];
        for (std::size_t i = 1; i < vectors.size(); ++i)
            sum += vectors[i] * other.vectors[i];
        return (sum[0] + sum[2]) + (sum[1] + sum[3]);
    }
};

/// The fields of an operand's description (emulator_abi.hpp).
struct Described {
    std::uint64_t start;
    std::uint64_t stride;
    std::uint64_t row_bytes;

    explicit Described(std::uint64_t operand)
        : start(operand & ((std::uint64_t{1} << 48) - 1)),
          stride(operand >> 48 & 0x3fff),
          row_bytes(std::uint64_t{128} >> (operand >> 62)) {}
};

/// A swizzle exchanges 16-byte pieces of rows by the address alone: bits 7 to 9 onto bits 4 to 6, or as many of them as
/// number the pieces of a row.
std::uint64_t swizzled(std::uint64_t address, std::uint64_t row_bytes) {
    return address ^ (address / 128 % (row_bytes / 16) * 16);
}

Row load_k_major(std::uint64_t operand, std::uint64_t row) {
    const Described described(operand);
    const std::uint64_t begin = described.start + row / 8 * described.stride * 128 + row % 8 * 128;
    Row result;
    for (int piece = 0; piece < Row::bytes; piece += 16)
        result.load(piece, swizzled(begin + static_cast<std::uint64_t>(piece), 128), 16);
    return result;
}

Row load_mn_major(std::uint64_t operand, std::uint64_t row) {
    const Described described(operand);
    const std::uint64_t block = described.row_bytes / 2;
    const std::uint64_t begin = described.start + row / block * described.stride * 1024 + row % block * 2;
    Row result;
    for (int k = 0; k < Row::bytes / 2; ++k) {
        const std::uint64_t address = begin + static_cast<std::uint64_t>(k) * described.row_bytes;
        result.load(2 * k, swizzled(address, described.row_bytes), 2);
    }
    return result;
}

Row load_plain(std::uint64_t operand, std::uint64_t row) {
    const Described described(operand);
    const std::uint64_t begin = described.start + row / 8 * described.stride * 128 + row % 8 * 16;
    Row result;
    result.load(0, begin, 16);
    result.load(16, begin + 128, 16);
    return result;
}

Row load(Placement placement, std::uint64_t operand, std::uint64_t row) {
    if (placement == Placement::k_major) return load_k_major(operand, row);
    return placement == Placement::mn_major ? load_mn_major(operand, row) : load_plain(operand, row);
}

/// Of the first of the two rows that four lanes hold in registers, or of the second.
Row load_registers(const std::array<const unsigned*, 4>& lanes, int second) {
    Row row;
    for (int half = 0; half < 2; ++half) {
        for (int lane = 0; lane < 4; ++lane) {
            const unsigned* from = lanes[static_cast<std::size_t>(lane)] + second + 2 * half;
            std::memcpy(&row.data[static_cast<std::size_t>(16 * half + 4 * lane)], from, sizeof *from);
        }
    }
    return row;
}

Row load_left(const Product& product, const LeftOperand& a, std::uint32_t first_row, int second) {
    if (product.a != Placement::registers)
        return load(product.a, a.words[0], first_row + 8 * static_cast<std::uint64_t>(second));
    std::array<const unsigned*, 4> lanes{};
    for (std::size_t i = 0; i < lanes.size(); ++i)
        lanes[i] = reinterpret_cast<const unsigned*>(a.words[i]);
    return load_registers(lanes, second);
}

template <Element E>
void multiply(const Product& product, std::uint32_t thread, float* sums, const LeftOperand& a, std::uint64_t b,
              bool add) {
    const std::uint32_t first_row = thread / 32 * 16 + thread % 32 / 4;
    const std::array left{Values<E>(load_left(product, a, first_row, 0)),
                          Values<E>(load_left(product, a, first_row, 1))};
    const auto eights = static_cast<std::uint64_t>(product.columns) / 8;
    for (std::uint64_t eight = 0; eight < eights; ++eight, sums += 4) {
        for (std::uint32_t column = 0; column < 2; ++column) {
            const Values<E> right(load(product.b, b, eight * 8 + thread % 4 * 2 + column));
            for (std::size_t row = 0; row < 2; ++row) {
                float& sum = sums[2 * row + column];
                sum = (add ? sum : 0.0F) + left[row].times(right);
            }
        }
    }
}

/// Column `column` of B, which four lanes hold as they hold rows of A, in one register of each half.
Row load_column(const std::array<WarpOperands, 32>& lanes, std::size_t column) {
    Row row;
    for (std::size_t half = 0; half < 2; ++half) {
        for (std::size_t lane = 0; lane < 4; ++lane)
            std::memcpy(&row.data[16 * half + 4 * lane], lanes[4 * column + lane].b + half, sizeof(unsigned));
    }
    return row;
}

template <Element E>
void multiply(const std::array<WarpOperands, 32>& lanes) {
    std::array<Values<E>, 8> columns;
    for (std::size_t column = 0; column < columns.size(); ++column)
        columns[column] = Values<E>(load_column(lanes, column));
    for (std::size_t row = 0; row < 8; ++row) {
        const std::array held{lanes[4 * row].a, lanes[4 * row + 1].a, lanes[4 * row + 2].a, lanes[4 * row + 3].a};
        for (int second = 0; second < 2; ++second) {
            const Values<E> left(load_registers(held, second));
            for (std::size_t column = 0; column < 8; ++column)
                lanes[4 * row + column / 2].sums[2 * second + column % 2] += left.times(columns[column]);
        }
    }
}

}  // namespace

void multiply_warpgroup(const Product& product, std::uint32_t thread, float* sums, const LeftOperand& a,
                        std::uint64_t b, bool add) {
    switch (product.element) {
        case Element::f16:
            return multiply<Element::f16>(product, thread, sums, a, b, add);
        case Element::bf16:
            return multiply<Element::bf16>(product, thread, sums, a, b, add);
        case Element::tf32:
            return multiply<Element::tf32>(product, thread, sums, a, b, add);
    }
}

void multiply_warp(Element element, const std::array<WarpOperands, 32>& lanes) {
    switch (element) {
        case Element::f16:
            return multiply<Element::f16>(lanes);
        case Element::bf16:
            return multiply<Element::bf16>(lanes);
        case Element::tf32:
            return multiply<Element::tf32>(lanes);
    }
}

}  // namespace tconv::emulator
