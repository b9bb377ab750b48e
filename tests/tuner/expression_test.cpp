#include "tuner/expression.hpp"

#include <random>

#include "tests/catch.hpp"
#include "tests/tuner/spaces_for_tests.hpp"

using namespace tconv;
using tconv::testing::check_holds;
using tconv::testing::error_of;

namespace {

std::int64_t value_of(const std::string& text, double x = 5, double y = 3) {
    return Expression(text, {{"problem.batch", 7}}, {{"x", &x}, {"y", &y}}).integer();
}

std::string value_error(const std::string& text) {
    return error_of([&] { (void)value_of(text); });
}

}  // namespace

TEST_CASE("expressions follow the usual precedence") {
    CHECK(value_of("x + y * 2") == 11);
    CHECK(value_of("(x + y) * 2") == 16);
    CHECK(value_of("x - y - 1") == 1);
    CHECK(value_of("8 / 4 / 2") == 1);
    CHECK(value_of("-x * -y") == 15);
    CHECK(value_of("x - -y") == 8);
    CHECK(value_of("1 + 2 * 3 == 7") == 1);
    CHECK(value_of("x > y && y > x || x == 5") == 1);
    CHECK(value_of("!(x == y) && !0") == 1);
    CHECK(value_of("x<-y") == 0);
    CHECK(value_of("x >= 5 && x <= 5 && x != 4") == 1);
    CHECK(value_of("x > y ? y > x ? 1 : 2 : 3") == 2);
    CHECK(value_of("problem.batch % x") == 2);
    CHECK(value_of("1e3") == 1000);
}

TEST_CASE("a fraction is allowed on the way but not as a result") {
    CHECK(value_of("x / 2 * 4") == 10);
    CHECK(value_of("x / 2 > 2.4") == 1);
    check_holds(value_error("x / 2"), "\"x / 2\" is 2.5, which is no integer");
}

TEST_CASE("integer functions agree with integer arithmetic") {
    std::mt19937_64 random(1);
    double a = 0;
    double b = 0;
    const std::map<std::string, double*> variables{{"a", &a}, {"b", &b}};
    const Expression floor_quotient("floor_div(a, b)", {}, variables);
    const Expression ceil_quotient("ceil_div(a, b)", {}, variables);
    const Expression remainder("a % b", {}, variables);
    const Expression rounded("round_up(a, b)", {}, variables);
    const Expression divided("divides(b, a)", {}, variables);
    for (int i = 0; i < 20000; ++i) {
        const bool large = i % 2 == 0;
        const auto p = static_cast<std::int64_t>(random() % (large ? 9007199254740992U : 1000U)) - (large ? 0 : 500);
        const auto q = static_cast<std::int64_t>(random() % 40) - 20;
        if (q == 0) continue;
        a = static_cast<double>(p);
        b = static_cast<double>(q);
        std::int64_t down = p / q;
        if (p % q != 0 && (p < 0) != (q < 0)) --down;
        const std::int64_t up = p % q == 0 ? down : down + 1;
        REQUIRE(floor_quotient.integer() == down);
        REQUIRE(ceil_quotient.integer() == up);
        REQUIRE(remainder.integer() == p - down * q);
        REQUIRE(divided.truth() == (p % q == 0));
        if (up * q <= k_largest_exact_integer) REQUIRE(rounded.integer() == up * q);
    }
}

TEST_CASE("min and max take any number of arguments") {
    CHECK(value_of("min(x, y, 2)") == 2);
    CHECK(value_of("max(x, y, 2)") == 5);
    CHECK(value_of("max(x)") == 5);
}

TEST_CASE("nothing is rounded or divided by zero silently") {
    check_holds(value_error("x / (y - 3)"), "division of 5 by zero in \"x / (y - 3)\"");
    check_holds(value_error("1 / 0 > 2"), "division of 1 by zero");
    check_holds(value_error("x % 0"), "% of 5 by zero");
    check_holds(value_error("divides(0, x)"), "divides of 5 by zero");
    check_holds(value_error("floor_div(x, 1.5)"), "floor_div needs integers, but got 5 and 1.5");
    check_holds(value_error("x * 1e15 * 1e3"), "beyond 2^53");
    check_holds(value_error("9007199254740992 + 1 - 1 + x"), "beyond 2^53");
    check_holds(value_error("1e300"), "beyond 2^53");
    CHECK(value_of("9007199254740991 + 1") == k_largest_exact_integer);
}

TEST_CASE("only the chosen side of ?: is evaluated") {
    CHECK(value_of("y == 3 ? 1 : x / (y - 3)") == 1);
    CHECK(value_of("y == 4 ? 1 / 0 : 2") == 2);
}

TEST_CASE("a right side that decides nothing is not evaluated") {
    CHECK(value_of("y != 3 && x / (y - 3) > 1") == 0);
    CHECK(value_of("y == 3 || x / (y - 3) > 1") == 1);
    CHECK(value_of("0 && x / 0") == 0);
    CHECK(value_of("1 || 1 / 0") == 1);
    check_holds(value_error("y == 3 && x / (y - 3) > 1"), "division of 5 by zero");
}

TEST_CASE("an expression depends on the variables that constants leave open") {
    double x = 1;
    double y = 2;
    const auto variables = [&](const std::string& text) {
        return Expression(text, {{"flag", 0}}, {{"x", &x}, {"y", &y}}).variables();
    };
    CHECK(variables("x + x") == std::vector<const double*>{&x});
    CHECK(variables("flag ? x : y") == std::vector<const double*>{&y});
    CHECK(variables("flag && x").empty());
    CHECK(variables("1 + 2 * flag").empty());
}

TEST_CASE("deep nesting is refused, not followed") {
    const std::string deep = std::string(100000, '(') + "1" + std::string(100000, ')');
    check_holds(error_of([&] { (void)names_in_expression(deep); }), "nested too deeply");
    check_holds(error_of([&] { (void)names_in_expression(std::string(100000, '-') + "1"); }), "nested too deeply");
    std::string sum = "1";
    for (int i = 0; i < 100000; ++i)
        sum += "+1";
    check_holds(error_of([&] { (void)names_in_expression(sum); }), "too long");
    CHECK(value_of(std::string(50, '(') + "x" + std::string(50, ')')) == 5);
}

TEST_CASE("a rule is 0 or 1") {
    double x = 5;
    CHECK(Expression("x == 5", {}, {{"x", &x}}).truth());
    CHECK_FALSE(Expression("x < 5", {}, {{"x", &x}}).truth());
    const Expression number("x", {}, {{"x", &x}});
    check_holds(error_of([&] { (void)number.truth(); }), "the rule \"x\" is 5, which is neither 0 nor 1");
}

TEST_CASE("variables are read at each evaluation") {
    double x = 1;
    const Expression square("x * x", {}, {{"x", &x}});
    CHECK(square.integer() == 1);
    x = 12;
    CHECK(square.integer() == 144);
}

TEST_CASE("the names of an expression are found") {
    CHECK(names_in_expression("a.b + max(c_1, 2) * 1e5 + (d ? a.b : 0)") ==
          std::vector<std::string>{"a.b", "c_1", "d"});
    CHECK(names_in_expression("1 + 2").empty());
}

TEST_CASE("what is no expression is refused with a position") {
    const auto error = [](const std::string& text) { return error_of([&] { (void)names_in_expression(text); }); };
    check_holds(error("x +"), "cannot read the expression \"x +\"");
    check_holds(error("x +"), "position");
    check_holds(error("x)"), "position 1");
    check_holds(error("(x"), "cannot read");
    check_holds(error("x = 3"), "cannot read");
    check_holds(error("x ^ 3"), "cannot read");
    check_holds(error("1 2"), "cannot read");
    check_holds(error("\"text\""), "cannot read");
    check_holds(error("x ? 1"), "cannot read");
    check_holds(error("1, 2"), "comma outside a function's brackets");
    check_holds(error("sin(x)"), "unknown function sin in \"sin(x)\"; known are min, max");
    check_holds(error("x (2)"), "unknown function x");
    check_holds(error("max()"), "cannot read");
    check_holds(error("floor_div(1)"), "cannot read");
    check_holds(error("floor_div(1, 2, 3)"), "cannot read");
}

TEST_CASE("a name that has no value is refused") {
    CHECK(value_error("x + tile") == "unknown name tile in \"x + tile\"");
}
