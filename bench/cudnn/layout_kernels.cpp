#include "bench/cudnn/layout_kernels.hpp"

#include <fmt/format.h>

#include <array>

#include "tuner/device_kernels.hpp"

namespace tconv::cudnn {

LayoutKernels::LayoutKernels(Device& device, Builder& builder)
    : device_(device),
      geometry_(filling_geometry(device.info())),
      module_(load_kernel_file(device, builder, "layout.cu",
                               {"tconv_transpose_2", "tconv_transpose_4", "tconv_add_bias_f32", "tconv_add_bias_f16",
                                "tconv_add_bias_bf16"})) {
    geometry_.block = {256, 1, 1};
}

void LayoutKernels::transpose(DataType type, DevicePointer source, DevicePointer target, std::int64_t batch,
                              std::int64_t rows, std::int64_t columns, StreamHandle stream) {
    std::array<void*, 5> arguments{&source, &target, &batch, &rows, &columns};
    device_.launch(*module_, fmt::format("tconv_transpose_{}", size_in_bytes(type)), geometry_, arguments.data(),
                   stream);
}

void LayoutKernels::add_bias(DataType type, DevicePointer data, DevicePointer bias, std::int64_t count,
                             std::int64_t channels, std::int64_t repeat, StreamHandle stream) {
    std::array<void*, 5> arguments{&data, &bias, &count, &channels, &repeat};
    device_.launch(*module_, fmt::format("tconv_add_bias_{}", to_string(type)), geometry_, arguments.data(), stream);
}

}  // namespace tconv::cudnn
