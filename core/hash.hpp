#pragma once

#include <string>
#include <string_view>

namespace tconv {

/// 128-bit content hash (XXH3), 32 hexadecimal digits.
[[nodiscard]] std::string content_hash(std::string_view bytes);

}  // namespace tconv
