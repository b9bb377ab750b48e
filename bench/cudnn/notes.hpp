#pragma once

#include "bench/cudnn/cudnn.hpp"
#include "core/data_type.hpp"

namespace tconv::cudnn {

/// What the library says of how an engine computes.
struct Notes {
    bool tensor_core = false;
    bool converts_inputs_down = false;
    bool reduces_in_low_precision = false;
    bool nondeterministic = false;
};

/// Whether an engine keeps to the arithmetic that was asked for. Winograd and FFT are plain arithmetic in another
/// order.
[[nodiscard]] bool allowed(const Notes& notes, DataType type, CudnnMath math);

}  // namespace tconv::cudnn
