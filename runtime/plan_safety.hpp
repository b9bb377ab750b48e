#pragma once

#include "cache/database.hpp"
#include "core/device_info.hpp"
#include "core/problem.hpp"

namespace tconv {

/// Checks that a stored trial can be used for `problem` on `device`: its plan is legal, its source file is one of the
/// embedded kernels, and every name in it is an identifier, since names become part of the text that is compiled.
/// Throws Error(bad_input) naming the first rule broken.
void check_stored(const Trial& trial, const Problem& problem, const DeviceInfo& device);

/// True where the trial's template differs from the embedded one: its times are those of another text.
[[nodiscard]] bool is_stale(const Trial& trial);

}  // namespace tconv
