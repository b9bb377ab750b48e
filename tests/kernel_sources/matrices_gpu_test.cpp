#include "tests/kernel_sources/copying_gpu.hpp"
#include "tests/kernel_sources/matrices.hpp"

using namespace tconv;

TEST_CASE("on a GPU matrices are moved and turned as their functions say") {
    const std::unique_ptr<Device> gpu = test::copying_gpu();
    const auto module = test::build_on(*gpu, test::matrices_source(), {"turn_matrices"});
    for (const std::uint32_t seed : {1, 2, 3}) {
        const test::TurnedRows rows(seed);
        CHECK(rows.run(*gpu, *module) == rows.expected());
    }
}
