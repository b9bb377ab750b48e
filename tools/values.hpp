#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tconv {

// Values of flags. `flag` names the thing in the message: "--trials". All throw Error(bad_input) with one sentence that
// says flag, value and rule.

/// A decimal integer of 64 bits, its sign included.
[[nodiscard]] std::int64_t parse_integer(std::string_view flag, std::string_view text);

/// An integer from `minimum` to `maximum`.
[[nodiscard]] std::int64_t parse_integer(std::string_view flag, std::string_view text, std::int64_t minimum,
                                         std::int64_t maximum);

/// A non-negative integer below 2^64.
[[nodiscard]] std::uint64_t parse_seed(std::string_view flag, std::string_view text);

/// Integers separated by x or by commas: "8x48x96" or "8,48,96".
[[nodiscard]] std::vector<std::int64_t> parse_integers(std::string_view flag, std::string_view text);

/// A span of time above 0 and up to 30 days, in seconds: "60s", "2m", "500ms"; a number without a unit counts seconds.
[[nodiscard]] double parse_duration(std::string_view flag, std::string_view text);

/// A number above 0 and up to 1.
[[nodiscard]] double parse_tolerance(std::string_view flag, std::string_view text);

}  // namespace tconv
