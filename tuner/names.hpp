#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/device_info.hpp"
#include "core/problem.hpp"

namespace tconv {

/// Names of expressions and their values.
using NamedValues = std::map<std::string, std::int64_t>;

/// Values that stand for words: f32, f16, bf16, nchw, nhwc.
[[nodiscard]] const NamedValues& word_values();

/// Everything named problem.*, of the problem as kernels see it (with_lone_inputs_parted); the problem must be valid.
[[nodiscard]] NamedValues problem_values(const Problem& problem);

/// Everything named device.*.
[[nodiscard]] NamedValues device_values(const DeviceInfo& device);

/// Whether `name` is one of the above.
[[nodiscard]] bool is_given_name(const std::string& name);

}  // namespace tconv
