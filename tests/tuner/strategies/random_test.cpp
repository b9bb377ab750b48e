#include "tuner/strategies/random.hpp"

#include <array>

#include "tests/catch.hpp"

using namespace tconv;

TEST_CASE("bounded draws are uniform") {
    Random random(1);
    std::array<int, 7> counts{};
    for (int i = 0; i < 70000; ++i) {
        const std::uint64_t value = draw_below(random, counts.size());
        REQUIRE(value < counts.size());
        ++counts[value];
    }
    // The standard deviation of a count is 93.
    for (const int count : counts)
        CHECK(std::abs(count - 10000) < 600);
}

TEST_CASE("bounded draws take the smallest and the largest bound") {
    Random random(2);
    for (int i = 0; i < 100; ++i)
        CHECK(draw_below(random, 1) == 0);
    // Two thirds of all values: the last third must be drawn again, never folded onto the small ones.
    const std::uint64_t bound = Random::max() / 3 * 2;
    int low = 0;
    for (int i = 0; i < 10000; ++i)
        low += draw_below(random, bound) < bound / 2 ? 1 : 0;
    CHECK(std::abs(low - 5000) < 400);
}
