#include "tuner/expression.hpp"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "core/error.hpp"

namespace tconv {
namespace {

[[noreturn]] void fail(const std::string& sentence) {
    throw Error(ErrorKind::bad_input, sentence);
}

// Beyond 2^53 doubles skip integers, so that a result there could be wrong unnoticed.
double exact(double value) {
    if (!(std::fabs(value) <= static_cast<double>(k_largest_exact_integer))) {
        fail(fmt::format("the number {} is beyond 2^53", value));
    }
    return value;
}

void require_integers(const char* function, double a, double b) {
    if (a != std::floor(a) || b != std::floor(b)) {
        fail(fmt::format("{} needs integers, but got {} and {}", function, a, b));
    }
    if (b == 0) fail(fmt::format("{} of {} by zero", function, a));
}

double add(double a, double b) {
    return exact(a + b);
}
double subtract(double a, double b) {
    return exact(a - b);
}
double multiply(double a, double b) {
    return exact(a * b);
}
double divide(double a, double b) {
    if (b == 0) fail(fmt::format("division of {} by zero", a));
    return exact(a / b);
}
double floor_div(double a, double b) {
    require_integers("floor_div", a, b);
    // The quotient of two such integers may round up to the next integer, the remainder is exact.
    const double remainder = std::fmod(a, b);
    const bool below = remainder != 0 && (remainder < 0) != (b < 0);
    return std::round((a - remainder) / b) - (below ? 1 : 0);
}
double remainder_of(double a, double b) {
    require_integers("%", a, b);
    const double remainder = std::fmod(a, b);
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
double ceil_div(double a, double b) {
    require_integers("ceil_div", a, b);
    return -floor_div(-a, b);
}
double round_up(double a, double b) {
    require_integers("round_up", a, b);
    return exact(ceil_div(a, b) * b);
}
// divisor first: divides(4, channels)
double divides(double divisor, double value) {
    require_integers("divides", value, divisor);
    return std::fmod(value, divisor) == 0 ? 1 : 0;
}
double less(double a, double b) {
    return a < b ? 1 : 0;
}
double less_equal(double a, double b) {
    return a <= b ? 1 : 0;
}
double greater(double a, double b) {
    return a > b ? 1 : 0;
}
double greater_equal(double a, double b) {
    return a >= b ? 1 : 0;
}
double equal(double a, double b) {
    return a == b ? 1 : 0;
}
double not_equal(double a, double b) {
    return a != b ? 1 : 0;
}
double logical_and(double a, double b) {
    return a != 0 && b != 0 ? 1 : 0;
}
double logical_or(double a, double b) {
    return a != 0 || b != 0 ? 1 : 0;
}
double logical_not(double a) {
    return a == 0 ? 1 : 0;
}
double minimum(const double* values, int count) {
    return *std::min_element(values, values + count);
}
double maximum(const double* values, int count) {
    return *std::max_element(values, values + count);
}

constexpr std::array k_functions{"min", "max", "floor_div", "ceil_div", "round_up", "divides"};

// muParser's own operators do not notice a division by zero or a rounded product, and its function list is long: all
// are replaced, only `?:` and the signs stay.
mu::Parser make_base_parser() {
    mu::Parser parser;
    parser.EnableBuiltInOprt(false);
    parser.ClearFun();
    parser.ClearConst();
    parser.DefineNameChars("0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.");
    parser.DefineOprt("||", logical_or, mu::prLOR);
    parser.DefineOprt("&&", logical_and, mu::prLAND);
    parser.DefineOprt("<", less, mu::prCMP);
    parser.DefineOprt("<=", less_equal, mu::prCMP);
    parser.DefineOprt(">", greater, mu::prCMP);
    parser.DefineOprt(">=", greater_equal, mu::prCMP);
    parser.DefineOprt("==", equal, mu::prCMP);
    parser.DefineOprt("!=", not_equal, mu::prCMP);
    parser.DefineOprt("+", add, mu::prADD_SUB);
    parser.DefineOprt("-", subtract, mu::prADD_SUB);
    parser.DefineOprt("*", multiply, mu::prMUL_DIV);
    parser.DefineOprt("/", divide, mu::prMUL_DIV);
    parser.DefineOprt("%", remainder_of, mu::prMUL_DIV);
    parser.DefineInfixOprt("!", logical_not, mu::prPOW);
    parser.DefineFun("min", minimum);
    parser.DefineFun("max", maximum);
    parser.DefineFun("floor_div", floor_div);
    parser.DefineFun("ceil_div", ceil_div);
    parser.DefineFun("round_up", round_up);
    parser.DefineFun("divides", divides);
    return parser;
}

const mu::Parser& base_parser() {
    static const mu::Parser parser = make_base_parser();
    return parser;
}

bool starts_name(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool continues_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// What muParser takes but the format does not: a call of an unknown function (reported as a stray parenthesis) and a
// list of several results.
void check_calls_and_commas(const std::string& text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '(') ++depth;
        if (text[i] == ')') --depth;
        if (text[i] == ',' && depth == 0) fail(fmt::format("\"{}\" holds a comma outside a function's brackets", text));
        if (!continues_name(text[i])) continue;
        const std::size_t begin = i;
        while (i + 1 < text.size() && continues_name(text[i + 1]))
            ++i;
        const std::size_t next = text.find_first_not_of(" \t\n", i + 1);
        const std::string name = text.substr(begin, i + 1 - begin);
        if (starts_name(name[0]) && next != std::string::npos && text[next] == '(' && !is_expression_function(name)) {
            fail(fmt::format("unknown function {} in \"{}\"; known are {}", name, text, fmt::join(k_functions, ", ")));
        }
    }
}

std::string parser_message(const std::string& text, const mu::ParserError& error) {
    std::string message = error.GetMsg();
    while (!message.empty() && (message.back() == '.' || message.back() == '\n'))
        message.pop_back();
    if (message.find("position") == std::string::npos) message += fmt::format(" (position {})", error.GetPos());
    return fmt::format("cannot read the expression \"{}\": {}", text, message);
}

}  // namespace

bool is_expression_function(const std::string& name) {
    return std::find(k_functions.begin(), k_functions.end(), name) != k_functions.end();
}

std::vector<std::string> names_in_expression(const std::string& text) {
    check_calls_and_commas(text);
    try {
        mu::Parser parser(base_parser());
        parser.SetExpr(text);
        std::vector<std::string> names;
        for (const auto& [name, address] : parser.GetUsedVar())
            names.push_back(name);
        return names;
    } catch (const mu::ParserError& error) {
        fail(parser_message(text, error));
    }
}

struct Expression::Impl {
    mu::Parser parser;
    std::string text;
};

Expression::Expression(const std::string& text, const std::map<std::string, double>& constants,
                       const std::map<std::string, double*>& variables)
    : impl_(std::make_unique<Impl>(Impl{base_parser(), text})) {
    // Only what is used is defined: a parser copies and searches its tables.
    for (const std::string& name : names_in_expression(text)) {
        if (const auto constant = constants.find(name); constant != constants.end()) {
            impl_->parser.DefineConst(name, constant->second);
        } else if (const auto variable = variables.find(name); variable != variables.end()) {
            impl_->parser.DefineVar(name, variable->second);
        } else {
            fail(fmt::format("unknown name {} in \"{}\"", name, text));
        }
    }
    impl_->parser.SetExpr(text);
}

Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

double Expression::real() const {
    double value = 0;
    try {
        value = impl_->parser.Eval();
    } catch (const mu::ParserError& error) {
        fail(parser_message(impl_->text, error));
    } catch (const Error& error) {
        fail(fmt::format("{} in \"{}\"", error.what(), impl_->text));
    }
    if (!(std::fabs(value) <= static_cast<double>(k_largest_exact_integer))) {
        fail(fmt::format("\"{}\" is {}, which is beyond 2^53", impl_->text, value));
    }
    return value;
}

std::int64_t Expression::integer() const {
    const double value = real();
    if (value != std::floor(value)) fail(fmt::format("\"{}\" is {}, which is no integer", impl_->text, value));
    return static_cast<std::int64_t>(value);
}

bool Expression::truth() const {
    const std::int64_t value = integer();
    if (value != 0 && value != 1) {
        fail(fmt::format("the rule \"{}\" is {}, which is neither 0 nor 1", impl_->text, value));
    }
    return value == 1;
}

}  // namespace tconv
