#include "bench/cudnn/notes.hpp"

namespace tconv::cudnn {

bool allowed(const Notes& notes, DataType type, CudnnMath math) {
    if (notes.reduces_in_low_precision) return false;
    if (type != DataType::f32 || math == CudnnMath::tf32) return true;
    return !notes.tensor_core && !notes.converts_inputs_down;
}

}  // namespace tconv::cudnn
