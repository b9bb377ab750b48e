#pragma once

#include <optional>

#include "tuner/search_space.hpp"

namespace tconv {

/// What a config of another version of the family is in `space`: parameters that both have are kept, those that the
/// space no longer has are dropped, and those that came later have the value that their file gives as `former`. Nothing
/// where one has none, or where the result is not valid here.
[[nodiscard]] std::optional<Config> adapted_config(const SearchSpace& space, const Problem& problem,
                                                   const DeviceInfo& device, const Config& former,
                                                   const Demand& demand = {});

}  // namespace tconv
