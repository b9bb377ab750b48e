#pragma once

#include <string>
#include <string_view>

namespace tconv {

/// Text that may hold bytes of a damaged file, fit for one line of a message: control characters become spaces, bytes
/// beyond ASCII question marks, and what is too long is cut.
[[nodiscard]] std::string printable_line(std::string_view text);

}  // namespace tconv
