#include "tuner/strategies/random_sampling.hpp"

#include <set>

#include "tests/catch.hpp"
#include "tests/tuner/strategies/strategies_for_tests.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

std::vector<Config> sample(const SearchSpace& space, std::uint64_t seed, std::size_t limit) {
    SearchHistory history(space, test_problem(), test_device(), seed);
    RandomSampling strategy(history);
    return run(strategy, limit, 4, bowl);
}

}  // namespace

TEST_CASE("random samples are distinct and valid") {
    const SearchSpace space = wide_space();
    const std::vector<Config> configs = sample(space, 3, 500);
    CHECK(configs.size() == 500);
    CHECK(std::set<Config>(configs.begin(), configs.end()).size() == 500);
    for (const Config& config : configs)
        CHECK(space.violation(test_problem(), test_device(), config).empty());
}

TEST_CASE("random samples depend on the seed alone") {
    const SearchSpace space = wide_space();
    CHECK(sample(space, 3, 50) == sample(space, 3, 50));
    CHECK(sample(space, 3, 50) != sample(space, 4, 50));
}

TEST_CASE("random samples spread over the values of each parameter") {
    const SearchSpace space = wide_space();
    std::map<std::int64_t, int> counts;
    for (const Config& config : sample(space, 5, 1000))
        ++counts[config.at("a")];
    REQUIRE(counts.size() == 10);
    for (const auto& [value, count] : counts)
        CHECK(count > 50);
}
