#include "bench/cudnn/notes.hpp"

namespace tconv::cudnn {

bool allowed(const Notes& notes, DataType type, CudnnMath math) {
    if (notes.reduces_in_low_precision) return false;
    if (type != DataType::f32) return true;
    // Inputs as 16-bit floats are not TF32: beyond 65504 they are infinite.
    return !notes.converts_inputs_down && (math == CudnnMath::tf32 || !notes.tensor_core);
}

}  // namespace tconv::cudnn
