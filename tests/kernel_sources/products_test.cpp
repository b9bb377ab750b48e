#include "tests/kernel_sources/products.hpp"

#include "kernel_sources/sources.hpp"
#include "tests/support/emulated.hpp"

using namespace tconv;

TEST_CASE("the emulator's matrix products are those of the functions' descriptions") {
    std::vector<std::string> kernels;
    for (const test::Product& one : test::k_products)
        kernels.emplace_back(one.kernel);
    const auto module = test::emulated().build(expand_includes("wgmma.cuh") + test::k_product_kernels, kernels);
    for (const test::Product& one : test::k_products)
        test::check_product(*test::emulated().device, *module, one);
}
