#include "tuner/ceiling_kernels.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <vector>

#include "tuner/device_kernels.hpp"

namespace tconv {
namespace {

constexpr const char* k_bf16_kernel = "tconv_multiply_matrices_bf16";
constexpr const char* k_tf32_kernel = "tconv_multiply_matrices_tf32";
constexpr int k_matrix_threads = 256;

// What ceilings.cu does in a round.
constexpr double k_fma_operations_a_thread = 2.0 * 8 * 16;
constexpr double k_products_a_warp = 512;  // of 16 x 8 x K elements

bool has_tensor_cores(const DeviceInfo& device) {
    return device.kind == DeviceKind::cuda && device.compute_major >= 8;
}

double threads(const LaunchGeometry& geometry) {
    return static_cast<double>(geometry.grid[0] * geometry.block[0]);
}

}  // namespace

CeilingKernels::CeilingKernels(Device& device, Builder& builder)
    : device_(device), vectors_(filling_geometry(device.info())) {
    std::vector<std::string> kernels{"tconv_copy", "tconv_multiply_add", "tconv_empty"};
    const bool tensor_cores = has_tensor_cores(device.info());
    if (tensor_cores) kernels.insert(kernels.end(), {k_bf16_kernel, k_tf32_kernel});
    module_ = load_kernel_file(device, builder, "ceilings.cu", kernels);
    matrices_.grid[0] = 0;
    if (!tensor_cores) return;
    matrices_.block[0] = k_matrix_threads;
    const int together = std::min(device.resources(*module_, k_bf16_kernel, matrices_).blocks_per_multiprocessor,
                                  device.resources(*module_, k_tf32_kernel, matrices_).blocks_per_multiprocessor);
    matrices_.grid[0] = std::int64_t{device.info().multiprocessors} * std::max(together, 1);
}

template <class... Arguments>
void CeilingKernels::run(const char* kernel, const LaunchGeometry& geometry, Arguments... arguments) {
    std::array<void*, sizeof...(Arguments)> addresses{static_cast<void*>(&arguments)...};
    device_.launch(*module_, kernel, geometry, addresses.data(), nullptr);
}

void CeilingKernels::copy(DevicePointer source, DevicePointer target, std::int64_t vectors) {
    run("tconv_copy", vectors_, source, target, vectors);
}

void CeilingKernels::compute(Arithmetic arithmetic, DevicePointer sink, int rounds) {
    assert(can_compute(arithmetic));
    if (arithmetic == Arithmetic::fp32) {
        run("tconv_multiply_add", vectors_, sink, rounds, 0.5F);
    } else {
        run(arithmetic == Arithmetic::tf32 ? k_tf32_kernel : k_bf16_kernel, matrices_, sink, rounds);
    }
}

void CeilingKernels::empty() {
    run("tconv_empty", vectors_, 0);
}

bool CeilingKernels::can_compute(Arithmetic arithmetic) const {
    return arithmetic == Arithmetic::fp32 || matrices_.grid[0] > 0;
}

double CeilingKernels::operations(Arithmetic arithmetic, int rounds) const {
    if (arithmetic == Arithmetic::fp32) return k_fma_operations_a_thread * rounds * threads(vectors_);
    const double depth = arithmetic == Arithmetic::tf32 ? 8 : 16;  // 32 bytes along K
    return 2 * 16 * 8 * depth * k_products_a_warp * rounds * threads(matrices_) / device_.info().warp_size;
}

}  // namespace tconv
