#include "tests/kernel_sources/products.hpp"

#include "device/driver/driver.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "kernel_sources/sources.hpp"
#include "tests/device/driver/require_gpu.hpp"

using namespace tconv;

TEST_CASE("on a GPU the tensor cores' instructions multiply matrices as their functions say") {
    require_gpu();
    const auto device = open_cuda_device(0);
    const int major = device->info().compute_major;
    if (major < 8) return;
    CompileRequest request;
    request.name = "products.cu";
    request.source = expand_includes("wgmma_registers.cuh") + test::k_product_kernels;
    for (const test::Product& one : test::k_products)
        request.kernels.emplace_back(one.kernel);
    request.architecture = architecture_of(device->info());
    const CompileResult compiled = make_nvrtc_compiler()->compile(request);
    INFO(compiled.log);
    REQUIRE(compiled.ok);
    const auto module = device->load(compiled.code);
    for (const test::Product& one : test::k_products) {
        if (major == 9 || !one.needs_wgmma) test::check_product(*device, *module, one);
    }
}
