#include "tuner/expression_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.hpp"

namespace tconv {
namespace {

struct Function {
    const char* name;
    Operation operation;
    bool any_number;  // of arguments, one or more; else two
};

constexpr std::array<Function, 6> k_functions{{{"min", Operation::minimum, true},
                                               {"max", Operation::maximum, true},
                                               {"floor_div", Operation::floor_div, false},
                                               {"ceil_div", Operation::ceil_div, false},
                                               {"round_up", Operation::round_up, false},
                                               {"divides", Operation::divides, false}}};

struct Sign {
    std::string_view text;
    Operation operation;
};

// Operators of two operands, the loosest first; of two signs that begin alike the longer one first.
constexpr int k_levels = 5;
constexpr std::array<std::array<Sign, 6>, k_levels> k_signs{{
    {{{"||", Operation::logical_or}}},
    {{{"&&", Operation::logical_and}}},
    {{{"<=", Operation::less_equal},
      {">=", Operation::greater_equal},
      {"==", Operation::equal},
      {"!=", Operation::not_equal},
      {"<", Operation::less},
      {">", Operation::greater}}},
    {{{"+", Operation::add}, {"-", Operation::subtract}}},
    {{{"*", Operation::multiply}, {"/", Operation::divide}, {"%", Operation::remainder}}},
}};

constexpr int k_deepest = 200;
constexpr int k_most_signs = 1000;  // a chain of signs is as deep a tree

const Function* find_function(std::string_view name) {
    const auto found =
        std::find_if(k_functions.begin(), k_functions.end(), [&](const Function& f) { return name == f.name; });
    return found == k_functions.end() ? nullptr : &*found;
}

std::string known_functions() {
    std::string names;
    for (const Function& function : k_functions)
        names += (names.empty() ? "" : ", ") + std::string(function.name);
    return names;
}

bool starts_name(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool continues_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

/// Reads by descent, one function for each kind of place.
class Reader {
public:
    explicit Reader(const std::string& text) : text_(text) {}

    ExpressionTree read() {
        ExpressionTree tree = choice();
        skip_space();
        if (at_ < text_.size() && text_[at_] == ',')
            throw Error(ErrorKind::bad_input, fmt::format("\"{}\" holds a comma outside a function's brackets", text_));
        if (at_ < text_.size()) fail(fmt::format("unexpected '{}'", text_[at_]));
        return tree;
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(ErrorKind::bad_input,
                    fmt::format("cannot read the expression \"{}\": {} (position {})", text_, what, at_));
    }

    void skip_space() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
            ++at_;
    }

    // Steps over `sign` where it comes next.
    bool take(std::string_view sign) {
        skip_space();
        if (text_.compare(at_, sign.size(), sign) != 0) return false;
        at_ += sign.size();
        return true;
    }

    void expect(std::string_view sign) {
        if (!take(sign)) fail(fmt::format("'{}' is missing", sign));
    }

    ExpressionTree choice() {
        if (++depth_ > k_deepest) fail("it is nested too deeply");
        ExpressionTree tree = joined(0);
        if (take("?")) {
            ExpressionTree chosen = choice();
            expect(":");
            ExpressionTree other = choice();
            tree = {Operation::choose, 0, {}, {std::move(tree), std::move(chosen), std::move(other)}};
        }
        --depth_;
        return tree;
    }

    [[nodiscard]] std::optional<Operation> take_sign(int level) {
        for (const Sign& sign : k_signs.at(static_cast<std::size_t>(level))) {
            if (!sign.text.empty() && take(sign.text)) return sign.operation;
        }
        return std::nullopt;
    }

    ExpressionTree joined(int level) {
        if (level == k_levels) return signed_place();
        ExpressionTree tree = joined(level + 1);
        while (const auto operation = take_sign(level)) {
            if (++signs_ > k_most_signs) fail("it is too long");
            tree = {*operation, 0, {}, {std::move(tree), joined(level + 1)}};
        }
        return tree;
    }

    ExpressionTree signed_place() {
        if (++depth_ > k_deepest) fail("it is nested too deeply");
        ExpressionTree tree;
        if (take("-")) {
            tree = {Operation::negate, 0, {}, {signed_place()}};
        } else if (take("!")) {
            tree = {Operation::logical_not, 0, {}, {signed_place()}};
        } else if (take("+")) {
            tree = signed_place();
        } else {
            tree = place();
        }
        --depth_;
        return tree;
    }

    ExpressionTree place() {
        if (take("(")) {
            ExpressionTree tree = choice();
            expect(")");
            return tree;
        }
        if (at_ == text_.size()) fail("it ends too early");
        const char first = text_[at_];
        if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '.') return number();
        if (!starts_name(first)) fail(fmt::format("unexpected '{}'", first));
        const std::size_t begin = at_;
        while (at_ < text_.size() && continues_name(text_[at_]))
            ++at_;
        std::string name = text_.substr(begin, at_ - begin);
        if (take("(")) return call(name);
        if (find_function(name) != nullptr) fail(fmt::format("the arguments of {} are missing", name));
        return {Operation::name, 0, std::move(name), {}};
    }

    ExpressionTree number() {
        ExpressionTree tree;
        const char* const begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), tree.number);
        if (error != std::errc()) fail("a number cannot be read");
        at_ += static_cast<std::size_t>(end - begin);
        if (at_ < text_.size() && continues_name(text_[at_])) fail(fmt::format("unexpected '{}'", text_[at_]));
        return tree;
    }

    ExpressionTree call(const std::string& name) {
        const Function* const function = find_function(name);
        if (function == nullptr) {
            throw Error(ErrorKind::bad_input,
                        fmt::format("unknown function {} in \"{}\"; known are {}", name, text_, known_functions()));
        }
        ExpressionTree tree{function->operation, 0, {}, {}};
        do
            tree.operands.push_back(choice());
        while (take(","));
        expect(")");
        if (!function->any_number && tree.operands.size() != 2)
            fail(fmt::format("{} takes two arguments, not {}", name, tree.operands.size()));
        return tree;
    }

    const std::string& text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    int signs_ = 0;
};

}  // namespace

bool is_expression_function(const std::string& name) {
    return find_function(name) != nullptr;
}

ExpressionTree read_expression(const std::string& text) {
    return Reader(text).read();
}

}  // namespace tconv
