#pragma once

#include <string>

#include "core/launch_plan.hpp"
#include "core/problem.hpp"

namespace tconv {

/// The file of the reference kernels and their entries. They take every problem at run time, so one binary serves all.
inline constexpr const char* k_reference_file = "reference.cu";

/// Entry that computes the output in the problem's own type: "tconv_reference_f32".
[[nodiscard]] std::string reference_entry(DataType type);

/// Entry that computes float64 results and the scale S of the error measure (float32): "tconv_reference_scaled_f32".
/// Arguments: input, weight, bias, double* reference, float* scale, shape, batch.
[[nodiscard]] std::string scaled_reference_entry(DataType type);

/// The problem as the reference kernels' by-value struct of 64-bit integers, in the order of `Shape` in reference.cu.
[[nodiscard]] std::vector<std::int64_t> reference_shape(const Problem& problem);

/// Launch of `reference_entry`: one thread an output, any legal problem.
[[nodiscard]] LaunchPlan reference_plan(const Problem& problem);

}  // namespace tconv
