#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <string_view>

#include "core/error.hpp"
#include "core/problem.hpp"

namespace tconv {
namespace {

/// Reads the words of a key one by one; every word must be there, in order.
class KeyReader {
public:
    explicit KeyReader(const std::string& text) : text_(text), words_(text) {}

    [[noreturn]] void fail(const std::string& rule) const { reject(fmt::format("problem key ({}) {}", text_, rule)); }

    std::string word() {
        std::string result;
        if (!(words_ >> result)) fail("ends too early");
        return result;
    }

    /// The rest of the next word, which must begin with `prefix`.
    std::string after(std::string_view prefix) {
        const std::string result = word();
        if (result.compare(0, prefix.size(), prefix) != 0)
            fail(fmt::format("must have {}... where {} stands", prefix, result));
        return result.substr(prefix.size());
    }

    std::int64_t number(std::string_view prefix) { return integer(after(prefix)); }

    Extents extents(std::string_view prefix, int axes, std::int64_t neutral) {
        Extents result{neutral, neutral, neutral};
        const std::string list = after(prefix);
        std::stringstream parts(list);
        std::string part;
        int count = 0;
        for (; std::getline(parts, part, 'x'); ++count) {
            if (count == axes) break;
            result[static_cast<std::size_t>(3 - axes + count)] = integer(part);
        }
        if (count != axes || !parts.eof()) fail(fmt::format("must have {} numbers after {}", axes, prefix));
        return result;
    }

    void end() {
        std::string rest;
        if (words_ >> rest) fail(fmt::format("goes on after its end: {}", rest));
    }

private:
    std::int64_t integer(const std::string& digits) {
        std::int64_t value = 0;
        const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (status != std::errc() || end != digits.data() + digits.size()) {
            fail(fmt::format("has {} where a 64-bit integer must stand", digits));
        }
        return value;
    }

    const std::string& text_;
    std::istringstream words_;
};

}  // namespace

std::string key(const Problem& p) {
    const auto list = [&](const Extents& extents) { return join_extents(p, extents); };
    return fmt::format("{}d n{} ci{} co{} g{} i{} k{} s{} p{} op{} d{} {} {} {}", p.spatial_axes, p.batch,
                       p.in_channels, p.out_channels, p.groups, list(p.input), list(p.kernel), list(p.stride),
                       list(p.padding), list(p.output_padding), list(p.dilation), p.bias ? "bias" : "nobias",
                       to_string(p.dtype), to_string(p.layout));
}

Problem parse_key(const std::string& text) {
    KeyReader reader(text);
    Problem p;
    const std::string axes = reader.word();
    if (axes != "1d" && axes != "2d" && axes != "3d") reader.fail("must begin with 1d, 2d or 3d");
    p.spatial_axes = axes[0] - '0';
    p.batch = reader.number("n");
    p.in_channels = reader.number("ci");
    p.out_channels = reader.number("co");
    p.groups = reader.number("g");
    p.input = reader.extents("i", p.spatial_axes, 1);
    p.kernel = reader.extents("k", p.spatial_axes, 1);
    p.stride = reader.extents("s", p.spatial_axes, 1);
    p.padding = reader.extents("p", p.spatial_axes, 0);
    p.output_padding = reader.extents("op", p.spatial_axes, 0);
    p.dilation = reader.extents("d", p.spatial_axes, 1);
    const std::string bias = reader.word();
    if (bias != "bias" && bias != "nobias") reader.fail("must have bias or nobias after the extents");
    p.bias = bias == "bias";
    p.dtype = parse_data_type(reader.word());
    p.layout = parse_layout(reader.word());
    reader.end();
    return p;
}

}  // namespace tconv
