#include "tools/format.hpp"

#include <random>

#include "tests/catch.hpp"

using namespace tconv;

TEST_CASE("one_line leaves no control character") {
    CHECK(one_line("a\nb\tc\x1b[2Jd\r\n") == "a b c [2Jd");
    CHECK(one_line("plain") == "plain");
    CHECK(one_line("größe") == "größe");
}

TEST_CASE("milliseconds keep four significant digits") {
    CHECK(format_milliseconds(10.8) == "10.80 ms");
    CHECK(format_milliseconds(0.38512) == "0.3851 ms");
    CHECK(format_milliseconds(0.0012345) == "0.001234 ms");
    CHECK(format_milliseconds(1234.4) == "1234 ms");
    CHECK(format_milliseconds(0) == "0.000 ms");
}

TEST_CASE("clocks, bytes and factors") {
    CHECK(format_clock(42) == "0:42");
    CHECK(format_clock(41.2) == "0:42");
    CHECK(format_clock(3723) == "1:02:03");
    CHECK(format_clock(-3) == "0:00");
    CHECK(format_bytes(232448) == "227 KiB");
    CHECK(format_bytes(150.1e9) == "139.8 GiB");
    CHECK(format_bytes(0) == "0 B");
    CHECK(format_factor(1.024) == "1.02x");
    CHECK(format_factor(12.34) == "12.3x");
    CHECK(format_factor(340.4) == "340x");
}

TEST_CASE("widths count code points") {
    CHECK(display_width("█░x") == 3);
    CHECK(cut("█░x", 2) == "█░");
    CHECK(cut("ab", 5) == "ab");
    CHECK(cut("ab", 0).empty());
}

TEST_CASE("wrapping loses no word and keeps the width") {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        std::string text;
        for (unsigned word = 0; word < random() % 30; ++word) {
            if (!text.empty()) text += ' ';
            text.append(1 + random() % 12, 'w');
        }
        const std::size_t width = 12 + random() % 40;
        std::string joined;
        for (const std::string& line : wrap(text, width)) {
            CHECK(display_width(line) <= width);
            joined += (joined.empty() ? "" : " ") + line;
        }
        CHECK(joined == text);
    }
    CHECK(wrap("", 10).size() == 1);
}

TEST_CASE("columns align left and right") {
    CHECK(align_columns({{"name", "n"}, {"a", "12"}, {"longer", "3"}}, 0b10) == "name     n\na       12\nlonger   3\n");
}
