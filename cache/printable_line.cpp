#include "cache/printable_line.hpp"

namespace tconv {

std::string printable_line(std::string_view text) {
    constexpr std::size_t k_longest = 300;
    std::string line(text.substr(0, k_longest));
    for (char& c : line) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) c = ' ';
        if (byte > 0x7f) c = '?';
    }
    if (text.size() > k_longest) line += "...";
    return line;
}

}  // namespace tconv
