#include "core/outcome.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/error.hpp"

namespace tconv {
namespace {

constexpr std::array<std::pair<OutcomeKind, std::string_view>, 11> k_names{{
    {OutcomeKind::valid, "valid"},
    {OutcomeKind::compile_error, "compile_error"},
    {OutcomeKind::resource_error, "resource_error"},
    {OutcomeKind::launch_error, "launch_error"},
    {OutcomeKind::wrong_result, "wrong_result"},
    {OutcomeKind::not_finite, "not_finite"},
    {OutcomeKind::out_of_bounds, "out_of_bounds"},
    {OutcomeKind::nondeterministic, "nondeterministic"},
    {OutcomeKind::timeout, "timeout"},
    {OutcomeKind::crashed, "crashed"},
    {OutcomeKind::too_slow, "too_slow"},
}};

}  // namespace

std::string_view to_string(OutcomeKind kind) {
    for (const auto& [value, name] : k_names) {
        if (value == kind) return name;
    }
    return "?";
}

OutcomeKind parse_outcome_kind(std::string_view text) {
    for (const auto& [value, name] : k_names) {
        if (name == text) return value;
    }
    throw Error(ErrorKind::bad_input, fmt::format("outcome ({}) is none that this version knows", text));
}

double ranking_milliseconds(const Timing& timing) {
    return timing.rank > 0 ? timing.rank : timing.median;
}

bool ranks_before(const Timing& a, const Timing& b) {
    return std::pair(a.dropped_early, ranking_milliseconds(a)) < std::pair(b.dropped_early, ranking_milliseconds(b));
}

}  // namespace tconv
