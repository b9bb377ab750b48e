#pragma once

#include <array>
#include <cstddef>

#include "device/emulator/emulator_abi.hpp"

namespace tconv::emulator {

using BoxCorner = std::array<int, 5>;

/// Bytes that a copy of the map's box writes.
[[nodiscard]] std::size_t box_bytes(const tconv_emulator::TensorMap& map);

/// Copies the box whose first element is `corner` (which may be negative) to `shared`, as the hardware lays it out:
/// rows behind each other, zeros for what lies outside the array, 16-byte pieces exchanged by bits of their address.
void copy_box(const tconv_emulator::TensorMap& map, const BoxCorner& corner, unsigned char* shared);

}  // namespace tconv::emulator
