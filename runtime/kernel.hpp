#pragma once

#include <memory>

#include "runtime/ladder.hpp"
#include "runtime/runtime.hpp"

namespace tconv {

struct Kernel::Impl {
    Problem problem;
    std::shared_ptr<const LoadedKernel> loaded;
};

/// What a batch of 0 gets: nothing to launch.
[[nodiscard]] std::shared_ptr<const LoadedKernel> empty_kernel();

}  // namespace tconv
