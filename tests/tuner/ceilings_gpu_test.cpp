#include "device/driver/driver.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/device/driver/require_gpu.hpp"
#include "tuner/ceilings.hpp"

using namespace tconv;

TEST_CASE("on a GPU the ceilings stand in the order of the hardware") {
    require_gpu();
    const auto device = open_cuda_device(0);
    const auto compiler = make_nvrtc_compiler();
    Builder builder(*compiler, device->info());
    Timer timer(*device);
    const Ceilings ceilings = measure_ceilings(*device, builder, timer);
    INFO("copy " << ceilings.copy_bytes_per_second << ", fp32 " << ceilings.fma_flops_per_second << ", TF32 "
                 << ceilings.tf32_flops_per_second << ", bf16 " << ceilings.bf16_flops_per_second << ", launch "
                 << ceilings.empty_launch_milliseconds);
    CHECK(ceilings.copy_bytes_per_second > 1e10);
    CHECK(ceilings.fma_flops_per_second > 1e11);
    CHECK(ceilings.empty_launch_milliseconds > 0);
    if (device->info().compute_major < 8) {
        CHECK(ceilings.tf32_flops_per_second == 0);
        CHECK(ceilings.bf16_flops_per_second == 0);
        return;
    }
    CHECK(ceilings.bf16_flops_per_second > 1.2 * ceilings.tf32_flops_per_second);
    if (device->info().compute_major == 9)  // data-centre parts: tensor cores are far faster than the fp32 units
        CHECK(ceilings.tf32_flops_per_second > 3 * ceilings.fma_flops_per_second);
}
