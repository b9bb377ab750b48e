#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tconv {

/// `text` on one line and safe for a terminal: control characters become spaces.
[[nodiscard]] std::string one_line(std::string_view text);

/// A user's value for an error message: on one line, and shortened where it is long.
[[nodiscard]] std::string shown(std::string_view value);

/// Milliseconds with four significant digits and the unit: "10.80 ms", "0.3851 ms", "1234 ms".
[[nodiscard]] std::string format_milliseconds(double milliseconds);

/// Whole seconds as a clock: "0:42", "1:02:03". Negative counts as 0.
[[nodiscard]] std::string format_clock(double seconds);

/// Bytes in the largest binary unit that keeps them at 1 or more: "227 KiB", "139.8 GiB".
[[nodiscard]] std::string format_bytes(double bytes);

/// A count with commas and its noun: "1,234 trials", "1 trial".
[[nodiscard]] std::string counted(std::int64_t count, const std::string& what);

/// A span of time for people, in its largest unit: "3 s", "12 min", "5 h", "40 days". Negative counts as 0.
[[nodiscard]] std::string format_age(std::int64_t seconds);

/// A factor: "12.3x", "1.02x", "340x", "0.0013x".
[[nodiscard]] std::string format_factor(double factor);

/// Columns that UTF-8 text takes on a terminal, each code point one column.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// The first `width` columns of UTF-8 text.
[[nodiscard]] std::string cut(std::string_view text, std::size_t width);

/// Breaks text at spaces into lines of at most `width` columns; a longer word gets its own line.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Rows as aligned columns, two spaces apart; columns whose bit is set in `right_aligned` (bit 0 is the first) align
/// right. The first row is the head.
[[nodiscard]] std::string align_columns(const std::vector<std::vector<std::string>>& rows, unsigned right_aligned);

}  // namespace tconv
