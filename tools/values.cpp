#include "tools/values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "tools/format.hpp"

namespace tconv {
namespace {

constexpr double k_longest_duration_seconds = 30.0 * 24 * 3600;

[[noreturn]] void reject(std::string_view flag, std::string_view text, std::string_view rule) {
    throw Error(ErrorKind::bad_input, fmt::format("{} ({}) {}", flag, shown(text), rule));
}

/// The whole text as a number, or the kind of failure.
template <class Number>
std::errc read(std::string_view text, Number& value) {
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc()) return status;
    return end == text.data() + text.size() ? std::errc() : std::errc::invalid_argument;
}

std::optional<double> read_finite(std::string_view text) {
    double value = 0;
    if (read(text, value) != std::errc() || !std::isfinite(value)) return std::nullopt;
    return value;
}

/// Takes a trailing unit off `text` and returns its length in seconds; without one, 1.
double take_unit(std::string_view& text) {
    struct Unit {
        std::string_view name;
        double seconds;
    };
    for (const auto& [name, seconds] : {Unit{"ms", 1e-3}, Unit{"s", 1}, Unit{"m", 60}}) {
        if (!text.ends_with(name)) continue;
        text.remove_suffix(name.size());
        return seconds;
    }
    return 1;
}

}  // namespace

std::int64_t parse_integer(std::string_view flag, std::string_view text) {
    std::int64_t value = 0;
    const std::errc status = read(text, value);
    if (status == std::errc::result_out_of_range) reject(flag, text, "must fit in 64 bits");
    if (status != std::errc()) reject(flag, text, "must be a whole number");
    return value;
}

std::int64_t parse_integer(std::string_view flag, std::string_view text, std::int64_t minimum, std::int64_t maximum) {
    const std::int64_t value = parse_integer(flag, text);
    if (value < minimum || value > maximum)
        reject(flag, text, fmt::format("must be a whole number from {} to {}", minimum, maximum));
    return value;
}

std::uint64_t parse_seed(std::string_view flag, std::string_view text) {
    std::uint64_t value = 0;
    if (read(text, value) != std::errc()) reject(flag, text, "must be a whole number from 0 to 18446744073709551615");
    return value;
}

std::vector<std::int64_t> parse_integers(std::string_view flag, std::string_view text) {
    std::vector<std::int64_t> values;
    for (std::string_view rest = text;;) {
        const std::size_t end = rest.find_first_of("x,");
        std::int64_t value = 0;
        const std::errc status = read(rest.substr(0, end), value);
        if (status == std::errc::result_out_of_range) reject(flag, text, "must hold numbers that fit in 64 bits");
        if (status != std::errc()) reject(flag, text, "must be whole numbers separated by x, such as 2x1x2");
        values.push_back(value);
        if (end == std::string_view::npos) return values;
        rest.remove_prefix(end + 1);
    }
}

double parse_duration(std::string_view flag, std::string_view text) {
    std::string_view number = text;
    const double unit = take_unit(number);
    const std::optional<double> value = read_finite(number);
    if (!value) reject(flag, text, "must be a number with the unit s, m or ms, such as 60s");
    const double seconds = *value * unit;
    if (!(seconds > 0) || seconds > k_longest_duration_seconds)
        reject(flag, text, "must be above 0 and at most 30 days");
    return seconds;
}

double parse_tolerance(std::string_view flag, std::string_view text) {
    const std::optional<double> value = read_finite(text);
    if (!value || !(*value > 0) || *value > 1)
        reject(flag, text, "must be a number above 0 and at most 1, such as 1e-4");
    return *value;
}

}  // namespace tconv
