#include "tools/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <sstream>

namespace tconv {
namespace {

constexpr std::size_t k_longest_shown_value = 80;

bool starts_code_point(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

}  // namespace

std::string one_line(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    }
    while (!result.empty() && result.back() == ' ')
        result.pop_back();
    return result;
}

std::string shown(std::string_view value) {
    if (display_width(value) <= k_longest_shown_value) return one_line(value);
    return one_line(cut(value, k_longest_shown_value)) + "...";
}

std::string format_milliseconds(double milliseconds) {
    if (!std::isfinite(milliseconds) || milliseconds <= 0) return fmt::format("{:.3f} ms", milliseconds);
    const int digits_before_point = static_cast<int>(std::floor(std::log10(milliseconds))) + 1;
    return fmt::format("{:.{}f} ms", milliseconds, std::clamp(4 - digits_before_point, 0, 6));
}

std::string format_clock(double seconds) {
    const auto total = static_cast<std::int64_t>(std::clamp(std::ceil(seconds), 0.0, 1e9));
    const std::int64_t minutes = total / 60;
    if (minutes < 60) return fmt::format("{}:{:02}", minutes, total % 60);
    return fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, total % 60);
}

std::string format_bytes(double bytes) {
    constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    const bool whole = std::abs(bytes - std::round(bytes)) < 0.05;
    return whole ? fmt::format("{:.0f} {}", bytes, units[unit]) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string counted(std::int64_t count, const std::string& what) {
    const std::string plain = fmt::format("{}", count);
    std::string digits;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        if (i > 0 && (plain.size() - i) % 3 == 0) digits += ',';
        digits += plain[i];
    }
    return fmt::format("{} {}{}", digits, what, count == 1 ? "" : "s");
}

std::string format_age(std::int64_t seconds) {
    constexpr std::int64_t minute = 60, hour = 60 * minute, day = 24 * hour;
    if (seconds < 2 * minute) return fmt::format("{} s", std::max<std::int64_t>(seconds, 0));
    if (seconds < 2 * hour) return fmt::format("{} min", seconds / minute);
    if (seconds < 2 * day) return fmt::format("{} h", seconds / hour);
    return fmt::format("{} days", seconds / day);
}

std::string format_factor(double factor) {
    if (factor >= 100) return fmt::format("{:.0f}x", factor);
    if (factor < 0.1) return fmt::format("{:.2g}x", factor);
    return factor >= 10 ? fmt::format("{:.1f}x", factor) : fmt::format("{:.2f}x", factor);
}

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_code_point));
}

std::string cut(std::string_view text, std::size_t width) {
    std::size_t columns = 0;
    std::size_t end = 0;
    for (; end < text.size(); ++end) {
        if (starts_code_point(text[end]) && ++columns > width) break;
    }
    return std::string(text.substr(0, end));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    std::istringstream words{std::string(text)};
    std::string line;
    for (std::string word; words >> word;) {
        if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
            lines.push_back(std::move(line));
            line.clear();
        }
        if (!line.empty()) line += ' ';
        line += word;
    }
    if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
    return lines;
}

std::string align_columns(const std::vector<std::vector<std::string>>& rows, unsigned right_aligned) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], display_width(row[column]));
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t column = 0; column < row.size(); ++column) {
            const std::string padding(widths[column] - display_width(row[column]), ' ');
            const bool right = ((right_aligned >> column) & 1U) != 0;
            line += (column == 0 ? "" : "  ") + (right ? padding + row[column] : row[column] + padding);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace tconv
