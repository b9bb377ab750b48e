#include "tuner/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "core/error.hpp"
#include "tuner/expression_tree.hpp"

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

// Of a number up to 2^53, which 64-bit integers hold.
bool is_integer(double value) {
    return std::fabs(value) <= static_cast<double>(k_largest_exact_integer) &&
           static_cast<double>(static_cast<std::int64_t>(value)) == value;
}

[[noreturn]] void refuse_integers(const char* function, double a, double b) {
    if (b == 0) fail(fmt::format("{} of {} by zero", function, a));
    fail(fmt::format("{} needs integers, but got {} and {}", function, a, b));
}

void require_integers(const char* function, double a, double b) {
    if (b == 0 || !is_integer(a) || !is_integer(b)) refuse_integers(function, a, b);
}

double divide(double a, double b) {
    if (b == 0) fail(fmt::format("division of {} by zero", a));
    return exact(a / b);
}

std::int64_t floor_quotient(double a, double b) {
    const auto dividend = static_cast<std::int64_t>(a);
    const auto divisor = static_cast<std::int64_t>(b);
    const std::int64_t quotient = dividend / divisor;
    const bool below = quotient * divisor != dividend && (dividend < 0) != (divisor < 0);
    return quotient - (below ? 1 : 0);
}

double floor_div(double a, double b) {
    require_integers("floor_div", a, b);
    return static_cast<double>(floor_quotient(a, b));
}

double remainder_of(double a, double b) {
    require_integers("%", a, b);
    return static_cast<double>(static_cast<std::int64_t>(a) - floor_quotient(a, b) * static_cast<std::int64_t>(b));
}

double ceil_div(double a, double b) {
    require_integers("ceil_div", a, b);
    return static_cast<double>(-floor_quotient(-a, b));
}

double round_up(double a, double b) {
    require_integers("round_up", a, b);
    return exact(static_cast<double>(-floor_quotient(-a, b)) * b);
}

// divisor first: divides(4, channels)
double divides(double divisor, double value) {
    require_integers("divides", value, divisor);
    return static_cast<std::int64_t>(value) % static_cast<std::int64_t>(divisor) == 0 ? 1 : 0;
}

double apply(Operation operation, double a, double b) {
    switch (operation) {
        case Operation::negate:
            return -a;
        case Operation::logical_not:
            return a == 0 ? 1 : 0;
        case Operation::less:
            return a < b ? 1 : 0;
        case Operation::less_equal:
            return a <= b ? 1 : 0;
        case Operation::greater:
            return a > b ? 1 : 0;
        case Operation::greater_equal:
            return a >= b ? 1 : 0;
        case Operation::equal:
            return a == b ? 1 : 0;
        case Operation::not_equal:
            return a != b ? 1 : 0;
        case Operation::add:
            return exact(a + b);
        case Operation::subtract:
            return exact(a - b);
        case Operation::multiply:
            return exact(a * b);
        case Operation::divide:
            return divide(a, b);
        case Operation::remainder:
            return remainder_of(a, b);
        case Operation::minimum:
            return std::min(a, b);
        case Operation::maximum:
            return std::max(a, b);
        case Operation::floor_div:
            return floor_div(a, b);
        case Operation::ceil_div:
            return ceil_div(a, b);
        case Operation::round_up:
            return round_up(a, b);
        case Operation::divides:
            return divides(a, b);
        case Operation::number:
        case Operation::name:
        case Operation::logical_and:
        case Operation::logical_or:
        case Operation::choose:
            break;
    }
    return a;
}

void collect_names(const ExpressionTree& tree, std::set<std::string>& names) {
    if (tree.operation == Operation::name) names.insert(tree.name);
    for (const ExpressionTree& operand : tree.operands)
        collect_names(operand, names);
}

/// One step of an expression: `to` becomes the operation of `a` and `b`; with `jump`, steps are left out where `a` is
/// zero (or not zero), and nothing is worked out.
struct Step {
    enum class Kind { apply, copy, skip, skip_if_zero, skip_unless_zero };
    Kind kind = Kind::apply;
    Operation operation = Operation::number;
    const double* a = nullptr;
    const double* b = nullptr;
    double* to = nullptr;
    std::size_t next = 0;  // where it goes on from a jump
};

}  // namespace

std::vector<std::string> names_in_expression(const std::string& text) {
    std::set<std::string> names;
    collect_names(read_expression(text), names);
    return {names.begin(), names.end()};
}

/// Every number has a place of its own: constants, results of steps, variables elsewhere.
struct Expression::Impl {
    struct Value {
        const double* at;
        bool known;  // now and for ever
    };

    Impl(const std::string& expression, const std::map<std::string, double>& given,
         const std::map<std::string, double*>& changing)
        : text(expression), constants(&given), names(&changing) {
        const ExpressionTree tree = read_expression(text);
        check_names(tree);
        result = compile(tree).at;
        constants = nullptr;
        names = nullptr;
        std::sort(variables.begin(), variables.end());
        variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
    }

    void check_names(const ExpressionTree& tree) const {
        std::set<std::string> used;
        collect_names(tree, used);
        for (const std::string& name : used) {
            if (!constants->contains(name) && !names->contains(name))
                fail(fmt::format("unknown name {} in \"{}\"", name, text));
        }
    }

    [[nodiscard]] Value constant(double value) { return {&numbers.emplace_back(value), true}; }

    [[nodiscard]] Value compile(const ExpressionTree& tree) {
        switch (tree.operation) {
            case Operation::number:
                return constant(tree.number);
            case Operation::name:
                return compile_name(tree.name);
            case Operation::choose:
                return compile_choice(tree);
            case Operation::logical_and:
            case Operation::logical_or:
                return compile_logic(tree);
            default:
                break;
        }
        Value value = compile(tree.operands.front());
        if (tree.operands.size() == 1) return compile_step(tree.operation, value, value);
        for (std::size_t i = 1; i < tree.operands.size(); ++i)
            value = compile_step(tree.operation, value, compile(tree.operands[i]));
        return value;
    }

    [[nodiscard]] Value compile_name(const std::string& name) {
        if (const auto found = constants->find(name); found != constants->end()) return constant(found->second);
        const double* const variable = names->at(name);
        variables.push_back(variable);
        return {variable, false};
    }

    [[nodiscard]] Value compile_step(Operation operation, Value a, Value b) {
        if (a.known && b.known) {
            try {
                return constant(apply(operation, *a.at, *b.at));
            } catch (const Error&) {
                // Whoever evaluates it is told.
            }
        }
        double* const to = &numbers.emplace_back(0);
        steps.push_back({Step::Kind::apply, operation, a.at, b.at, to, 0});
        return {to, false};
    }

    [[nodiscard]] std::size_t add_jump(Step::Kind kind, const double* a) {
        steps.push_back({kind, Operation::number, a, nullptr, nullptr, 0});
        return steps.size() - 1;
    }
    void land(std::size_t jump) { steps[jump].next = steps.size(); }
    void add_copy(const double* from, double* to) {
        steps.push_back({Step::Kind::copy, Operation::number, from, nullptr, to, 0});
    }

    [[nodiscard]] Value compile_choice(const ExpressionTree& tree) {
        const Value condition = compile(tree.operands[0]);
        if (condition.known) return compile(tree.operands[*condition.at != 0 ? 1 : 2]);
        double* const to = &numbers.emplace_back(0);
        const std::size_t otherwise = add_jump(Step::Kind::skip_if_zero, condition.at);
        add_copy(compile(tree.operands[1]).at, to);
        const std::size_t end = add_jump(Step::Kind::skip, nullptr);
        land(otherwise);
        add_copy(compile(tree.operands[2]).at, to);
        land(end);
        return {to, false};
    }

    // The right side counts only where the left one leaves it open.
    [[nodiscard]] Value compile_logic(const ExpressionTree& tree) {
        const bool decided_by = tree.operation == Operation::logical_or;  // the left side that decides
        const Value zero = constant(0);
        const Value left = compile_step(Operation::not_equal, compile(tree.operands[0]), zero);
        if (left.known && (*left.at != 0) == decided_by) return left;
        if (left.known) return compile_step(Operation::not_equal, compile(tree.operands[1]), zero);
        double* const to = &numbers.emplace_back(0);
        add_copy(left.at, to);
        const std::size_t end = add_jump(decided_by ? Step::Kind::skip_unless_zero : Step::Kind::skip_if_zero, left.at);
        add_copy(compile_step(Operation::not_equal, compile(tree.operands[1]), zero).at, to);
        land(end);
        return {to, false};
    }

    [[nodiscard]] double evaluate() const {
        for (std::size_t i = 0; i < steps.size();) {
            const Step& step = steps[i++];
            switch (step.kind) {
                case Step::Kind::apply:
                    *step.to = apply(step.operation, *step.a, *step.b);
                    break;
                case Step::Kind::copy:
                    *step.to = *step.a;
                    break;
                case Step::Kind::skip:
                    i = step.next;
                    break;
                case Step::Kind::skip_if_zero:
                    if (*step.a == 0) i = step.next;
                    break;
                case Step::Kind::skip_unless_zero:
                    if (*step.a != 0) i = step.next;
                    break;
            }
        }
        return *result;
    }

    std::string text;
    const std::map<std::string, double>* constants;  // while it is compiled
    const std::map<std::string, double*>* names;
    std::deque<double> numbers;  // never move
    std::vector<Step> steps;
    std::vector<const double*> variables;
    const double* result = nullptr;
};

Expression::Expression(const std::string& text, const std::map<std::string, double>& constants,
                       const std::map<std::string, double*>& variables)
    : impl_(std::make_unique<Impl>(text, constants, variables)) {}

Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

const std::vector<const double*>& Expression::variables() const {
    return impl_->variables;
}

double Expression::real() const {
    double value = 0;
    try {
        value = impl_->evaluate();
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
    if (!is_integer(value)) fail(fmt::format("\"{}\" is {}, which is no integer", impl_->text, value));
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
