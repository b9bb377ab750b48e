#include "cache/printable_line.hpp"

#include "tests/catch.hpp"

using namespace tconv;

TEST_CASE("text from a damaged file becomes one short printable line") {
    CHECK(printable_line("plain text, (1) 'x'") == "plain text, (1) 'x'");
    CHECK(printable_line(std::string("a\nb\x1b[31mc\0"
                                     "d\xff\x7f",
                                     13)) == "a b [31mc d? ");
    CHECK(printable_line("").empty());
    CHECK(printable_line(std::string(5000, 'x')) == std::string(300, 'x') + "...");
}
