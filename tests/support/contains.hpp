#pragma once

#include <string>

#include "tests/catch.hpp"

namespace tconv {

/// Matches text that holds `part`, under the name that the Catch2 at hand gives it.
inline auto contains(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
    return Catch::Matchers::ContainsSubstring(part);
#else
    return Catch::Matchers::Contains(part);
#endif
}

}  // namespace tconv
