#pragma once

#include "device/device.hpp"

namespace tconv::cuda {

/// See Device::encode; a context is current.
[[nodiscard]] EncodedTensorMap encode_tensor_map(const TensorMap& map, std::int64_t batch, DevicePointer address);

}  // namespace tconv::cuda
