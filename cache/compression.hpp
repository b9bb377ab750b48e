#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tconv {

/// zlib, default level. Throws Error(cache) when memory runs out.
[[nodiscard]] std::string compress(const std::string& bytes);

/// The reverse; nothing when the data is damaged or does not come to exactly `size` bytes.
[[nodiscard]] std::optional<std::string> decompress(const std::string& compressed, std::int64_t size);

}  // namespace tconv
