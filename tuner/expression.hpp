#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tconv {

/// Largest size of an integer that an expression can hold exactly: 2^53.
inline constexpr std::int64_t k_largest_exact_integer = std::int64_t{1} << 53;

/// The names that an expression uses, ascending. Throws Error(bad_input) with the place where it is no expression.
[[nodiscard]] std::vector<std::string> names_in_expression(const std::string& text);

/// One compiled expression over doubles: + - * / %, comparisons, && || !, ?: and the functions of
/// docs/search-spaces.md. What constants alone decide is worked out once; variables are read through their addresses,
/// which must outlive the object. Not for several threads at once.
class Expression {
public:
    /// Every name that `text` uses must be in one of the maps.
    Expression(const std::string& text, const std::map<std::string, double>& constants,
               const std::map<std::string, double*>& variables);
    Expression(Expression&&) noexcept;
    Expression& operator=(Expression&&) noexcept;
    ~Expression();

    /// Addresses of the variables that the value depends on, once the constants are known; in no order.
    [[nodiscard]] const std::vector<const double*>& variables() const;

    /// The value, an integer. Throws Error(bad_input) on a division by zero, a sum or product beyond 2^53, or a result
    /// that is no integer.
    [[nodiscard]] std::int64_t integer() const;

    /// The value, which may be a fraction. Throws Error(bad_input) as `integer` does but for that.
    [[nodiscard]] double real() const;

    /// The value as true or false. Throws Error(bad_input) as `integer` does, and when it is neither 0 nor 1.
    [[nodiscard]] bool truth() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tconv
