#pragma once

#include <cstdint>
#include <string>

#include "cache/database.hpp"

namespace tconv::test {

/// A CUDA device and an emulator.
[[nodiscard]] DeviceInfo sample_gpu();
[[nodiscard]] DeviceInfo sample_emulator();

/// A small valid problem; every field differs from its default.
[[nodiscard]] Problem sample_problem(std::int64_t batch = 2);

/// A plan that passes check_plan for any small problem.
[[nodiscard]] LaunchPlan sample_plan();

/// A valid trial with every field set; `number` tells its config and its binary key from others'.
[[nodiscard]] Trial sample_trial(const Problem& problem, int number, double median, double error = 1e-6);

/// Machine code that belongs to sample_trial's key.
[[nodiscard]] std::string sample_binary(int number);

/// Catch2 checks of every field that the caller of `record` sets.
void check_same(const Trial& left, const Trial& right);

/// SQL that takes from a database of this version what version 4 added, or versions 3 and 4.
extern const char* const k_without_version_4;
extern const char* const k_without_version_3;

}  // namespace tconv::test
