#include "tools/values.hpp"

#include <limits>

#include "tests/tools/rejects.hpp"

using namespace tconv;
using tests::check_rejection;

TEST_CASE("integers are read whole or not at all") {
    CHECK(parse_integer("--n", "0") == 0);
    CHECK(parse_integer("--n", "-7") == -7);
    CHECK(parse_integer("--n", "9223372036854775807") == std::numeric_limits<std::int64_t>::max());
    for (const char* text : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "one", "1\n2", "--1", "1x2"})
        check_rejection([&] { (void)parse_integer("--n", text); }, {"--n (", "must be a whole number"});
    for (const char* text : {"9223372036854775808", "-9223372036854775809", "99999999999999999999999999"})
        check_rejection([&] { (void)parse_integer("--n", text); }, {"--n (", text, "64 bits"});
}

TEST_CASE("an integer's range is named when it is left") {
    CHECK(parse_integer("--trials", "5", 1, 5) == 5);
    check_rejection([] { (void)parse_integer("--trials", "0", 1, 5); }, {"--trials (0)", "from 1 to 5"});
    check_rejection([] { (void)parse_integer("--trials", "6", 1, 5); }, {"--trials (6)", "from 1 to 5"});
}

TEST_CASE("seeds are any unsigned 64-bit number") {
    CHECK(parse_seed("--seed", "18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
    for (const char* text : {"", "-1", "18446744073709551616", "x", "1.5"})
        check_rejection([&] { (void)parse_seed("--seed", text); }, {"--seed (", "from 0 to"});
}

TEST_CASE("lists of integers take x and commas") {
    using List = std::vector<std::int64_t>;
    CHECK(parse_integers("--input", "8") == List{8});
    CHECK(parse_integers("--input", "8x48x96") == List{8, 48, 96});
    CHECK(parse_integers("--input", "8,48,96") == List{8, 48, 96});
    CHECK(parse_integers("--input", "-1x2") == List{-1, 2});
    for (const char* text : {"", "x", "8x", "x8", "8xx2", "8 x 2", "8X2", "8*2", "8x2.0", "axb", "8x\n2"})
        check_rejection([&] { (void)parse_integers("--input", text); }, {"--input (", "separated by x"});
    check_rejection([] { (void)parse_integers("--input", "1x9223372036854775808"); }, {"--input (1x922", "64 bits"});
}

TEST_CASE("durations have a unit") {
    CHECK(parse_duration("--time-limit", "60s") == Approx(60));
    CHECK(parse_duration("--time-limit", "60") == Approx(60));
    CHECK(parse_duration("--time-limit", "1.5m") == Approx(90));
    CHECK(parse_duration("--time-limit", "250ms") == Approx(0.25));
    for (const char* text : {"", "s", "ms", "60h", "60 s", "s60", "nan", "infs", "-", "1e999s", "60ss", "0x1s"})
        check_rejection([&] { (void)parse_duration("--time-limit", text); }, {"--time-limit (", "unit s, m or ms"});
    for (const char* text : {"0", "0s", "-5s", "-1m", "31000000s"})
        check_rejection([&] { (void)parse_duration("--time-limit", text); }, {"--time-limit (", "above 0", "30 days"});
}

TEST_CASE("tolerances lie above 0 and up to 1") {
    CHECK(parse_tolerance("--tolerance", "1e-4") == Approx(1e-4));
    CHECK(parse_tolerance("--tolerance", "1") == Approx(1));
    for (const char* text : {"", "0", "-1e-4", "1.1", "nan", "inf", "x", "1e-4 ", "1e-4x"})
        check_rejection([&] { (void)parse_tolerance("--tolerance", text); },
                        {"--tolerance (", "above 0 and at most 1"});
}

TEST_CASE("a value of any length is shown short and on one line") {
    const std::string sentence = tests::rejection([] { (void)parse_integer("--n", std::string(100000, 'a') + "\n"); });
    CHECK(sentence.size() < 200);
    CHECK(sentence.find("...") != std::string::npos);
}
