#pragma once

#include <string_view>

namespace tconv {

/// Throws Error(device) unless `image` is PTX text or a 64-bit little-endian ELF file (a cubin) whose headers and
/// sections lie inside it. The driver is told no size, so a truncated image would have it read past the end.
void check_image(std::string_view image);

}  // namespace tconv
