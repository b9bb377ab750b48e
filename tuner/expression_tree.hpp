#pragma once

#include <string>
#include <vector>

namespace tconv {

/// What one place of an expression does with its operands.
enum class Operation {
    number,
    name,
    negate,
    logical_not,
    logical_and,
    logical_or,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    minimum,
    maximum,
    floor_div,
    ceil_div,
    round_up,
    divides,
    choose,  ///< condition, then, else
};

/// An expression as read: an operation and what it is applied to.
struct ExpressionTree {
    Operation operation = Operation::number;
    double number = 0;
    std::string name;
    std::vector<ExpressionTree> operands;
};

/// Reads an expression of docs/search-spaces.md. Throws Error(bad_input) with the place where it is none.
[[nodiscard]] ExpressionTree read_expression(const std::string& text);

/// Whether `name` is one of the functions that expressions may call.
[[nodiscard]] bool is_expression_function(const std::string& name);

}  // namespace tconv
