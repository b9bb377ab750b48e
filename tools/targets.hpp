#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cache/database.hpp"
#include "core/device_info.hpp"

namespace tconv {

/// A described CUDA device, which need not be here (docs/targets.md).
struct Target {
    DeviceInfo info;  ///< without a driver version
    Ceilings rates;   ///< 0 where a rate is not known
};

/// Reads one description; `file` is its name in messages. Throws Error(bad_input) as "FILE:LINE: sentence".
[[nodiscard]] Target parse_target(const std::string& text, const std::string& file);

/// The described devices, by name: those of the folder TCONV_TARGETS where that is set, else those that come with this
/// program. Throws Error(bad_input).
[[nodiscard]] std::vector<Target> load_targets();

/// The device that `text` means: the path of a description (with a "/" or ending in ".yaml"), else a known device's
/// name or a part of it that no other has, whatever its case. Throws Error(bad_input).
[[nodiscard]] Target find_target(const std::string& text);

/// A description that `parse_target` reads back, with the rates that are known.
[[nodiscard]] std::string describe_target(const Target& target);

}  // namespace tconv
