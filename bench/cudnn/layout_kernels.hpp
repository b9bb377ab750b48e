#pragma once

#include <cstdint>
#include <memory>

#include "core/data_type.hpp"
#include "device/device.hpp"
#include "tuner/builder.hpp"

namespace tconv::cudnn {

/// The kernels of layout.cu on one device, which outlives the object. Functions enqueue on `stream` and throw
/// Error(device).
class LayoutKernels {
public:
    /// Throws Error(compile).
    LayoutKernels(Device& device, Builder& builder);

    /// Each of `batch` matrices of rows x columns, into memory that does not overlap.
    void transpose(DataType type, DevicePointer source, DevicePointer target, std::int64_t batch, std::int64_t rows,
                   std::int64_t columns, StreamHandle stream);

    /// Adds bias[i / repeat % channels] to element i of `count`: `repeat` is the number of positions in nchw, 1 in
    /// nhwc.
    void add_bias(DataType type, DevicePointer data, DevicePointer bias, std::int64_t count, std::int64_t channels,
                  std::int64_t repeat, StreamHandle stream);

private:
    Device& device_;
    LaunchGeometry geometry_;
    std::unique_ptr<Module> module_;
};

}  // namespace tconv::cudnn
