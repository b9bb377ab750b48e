#include "tests/kernel_sources/matrices.hpp"

#include "tests/support/contains.hpp"

using namespace tconv;

TEST_CASE("the emulator's moves of matrices are those of the functions' descriptions") {
    Device& device = *test::emulated().device;
    const auto module = test::emulated().build(test::matrices_source(), {"turn_matrices"});
    for (const std::uint32_t seed : {1, 2, 3}) {
        const test::TurnedRows rows(seed);
        CHECK(rows.run(device, *module) == rows.expected());
    }
    CHECK_THROWS_WITH(test::TurnedRows(1).run(device, *module, 1), contains("misaligned column of a matrix"));
}
