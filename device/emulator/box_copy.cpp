#include "device/emulator/box_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tconv::emulator {
namespace {

using tconv_emulator::TensorMap;

constexpr std::size_t k_piece_bytes = 16;

/// To nearest, ties to even, at 10 fraction bits; infinity and NaN stay as they are.
std::uint32_t rounded_to_tf32(std::uint32_t bits) {
    constexpr std::uint32_t exponent = 0x7f800000U;
    constexpr std::uint32_t dropped = 0x1fffU;
    if ((bits & exponent) == exponent) return bits;
    return (bits + dropped / 2 + (bits >> 13 & 1U)) & ~dropped;
}

void round_row(std::vector<unsigned char>& row) {
    for (std::size_t i = 0; i < row.size(); i += 4) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &row[i], sizeof bits);
        bits = rounded_to_tf32(bits);
        std::memcpy(&row[i], &bits, sizeof bits);
    }
}

/// Where a piece goes: bits 4 and up of its address are exchanged with those of the 128-byte line that it is in.
unsigned char* swizzled(unsigned char* piece, unsigned char swizzle) {
    if (swizzle == 0) return piece;
    const auto address = reinterpret_cast<std::uintptr_t>(piece);
    const std::uintptr_t lines = swizzle / k_piece_bytes - 1;
    const std::uintptr_t target = address ^ ((address >> 7 & lines) << 4);
    return piece + static_cast<std::ptrdiff_t>(target - address);
}

/// The row of the box that begins at `at`: zeros but for what lies inside the array.
void read_row(const TensorMap& map, const std::array<std::int64_t, 5>& at, std::vector<unsigned char>& row) {
    std::fill(row.begin(), row.end(), static_cast<unsigned char>(0));
    std::int64_t offset = 0;
    for (std::size_t i = 1; i < map.dimensions; ++i) {
        if (at[i] < 0 || at[i] >= map.extents[i]) return;
        offset += at[i] * static_cast<std::int64_t>(map.strides[i - 1]);
    }
    const std::int64_t first = std::max<std::int64_t>(at[0], 0);
    const std::int64_t end = std::min<std::int64_t>(at[0] + map.box[0], map.extents[0]);
    if (first >= end) return;
    std::memcpy(row.data() + (first - at[0]) * map.element_bytes, map.address + offset + first * map.element_bytes,
                static_cast<std::size_t>((end - first) * map.element_bytes));
}

}  // namespace

std::size_t box_bytes(const TensorMap& map) {
    std::size_t bytes = map.element_bytes;
    for (std::size_t i = 0; i < map.dimensions; ++i)
        bytes *= map.box[i];
    return bytes;
}

void copy_box(const TensorMap& map, const BoxCorner& corner, unsigned char* shared) {
    std::vector<unsigned char> row(static_cast<std::size_t>(map.box[0]) * map.element_bytes);
    const std::size_t rows = box_bytes(map) / row.size();
    for (std::size_t number = 0; number < rows; ++number) {
        std::array<std::int64_t, 5> at{corner[0]};
        std::size_t rest = number;
        for (std::size_t i = 1; i < map.dimensions; ++i) {
            at[i] = corner[i] + static_cast<std::int64_t>(rest % map.box[i]);
            rest /= map.box[i];
        }
        read_row(map, at, row);
        if (map.rounds_to_tf32 != 0) round_row(row);
        for (std::size_t i = 0; i < row.size(); i += k_piece_bytes)
            std::memcpy(swizzled(shared + number * row.size() + i, map.swizzle), &row[i], k_piece_bytes);
    }
}

}  // namespace tconv::emulator
