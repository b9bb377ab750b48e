#pragma once

#include <vector>

#include "bench/cudnn/convolution.hpp"
#include "bench/cudnn/descriptor.hpp"
#include "core/data_type.hpp"

namespace tconv::cudnn {

/// What the tensors of a graph are called in a call.
enum TensorId : std::int64_t { k_input = 1, k_weight = 2, k_output = 3, k_bias = 4, k_before_bias = 5 };

/// An operation graph and the descriptors that it refers to.
struct Graph {
    std::vector<Descriptor> parts;
    Descriptor graph;
};

/// The transposed convolution, accumulated in fp32, and the addition of the bias where `fused_bias`. `handle` may be
/// null. Throws Error(device) where the library refuses.
[[nodiscard]] Graph make_graph(const Library& library, void* handle, const Convolution& convolution, DataType type,
                               bool fused_bias);

}  // namespace tconv::cudnn
