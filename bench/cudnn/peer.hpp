#pragma once

#include <memory>

#include "bench/cudnn/call.hpp"
#include "bench/cudnn/cudnn.hpp"

namespace tconv::cudnn {

/// The peer on a device of any kind: with a library that computes where the device does.
[[nodiscard]] std::unique_ptr<Cudnn> make_peer(Device& device, Builder& builder, const Library& library,
                                               const Context& context);

/// The ways of laying out a problem for the library, those that are most likely the fastest first.
[[nodiscard]] std::vector<Variant> variants_of(const Problem& problem, CudnnLayout layout);

}  // namespace tconv::cudnn
