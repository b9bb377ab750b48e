#include "tuner/strategies/random_then_climb.hpp"

#include <algorithm>
#include <set>

#include "tests/catch.hpp"
#include "tests/tuner/strategies/strategies_for_tests.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

SearchSettings settings(std::uint64_t seed, std::int64_t budget = 200) {
    SearchSettings result;
    result.seed = seed;
    result.budget = budget;
    return result;
}

std::vector<Config> search(const SearchSpace& space, const SearchSettings& chosen, std::size_t limit, std::size_t lag) {
    RandomThenClimb strategy(space, test_problem(), test_device(), chosen);
    return run(strategy, limit, lag, bowl);
}

double best_of(const std::vector<Config>& configs) {
    double best = bowl(configs.front());
    for (const Config& config : configs)
        best = std::min(best, bowl(config));
    return best;
}

}  // namespace

TEST_CASE("a search begins with the valid defaults") {
    const SearchSpace space = wide_space(
        "  - {a: 9, b: 9, c: 0, d: 0, e: 0}\n"
        "  - {a: 1, b: 2, c: 3, d: 4, e: 4}\n"
        "  - {a: 0, b: 0, c: 0, d: 0, e: 0}\n");
    const std::vector<Config> configs = search(space, settings(1), 20, 4);
    CHECK(configs[0] == Config{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 4}});
    CHECK(configs[1] == Config{{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}, {"e", 0}});
}

TEST_CASE("a search begins with the defaults of the shortest guesses, and with those that are hardly longer") {
    // Guesses of 100, 110, 150, 151, 111 and 105, in the file's order.
    const auto defaults_of = [](const std::string& guess) {
        const std::string values = "{values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}\n";
        const std::string text = space_text("  a: " + values + "  b: " + values, "", "",
                                            "  - {a: 0, b: 0}\n  - {a: 1, b: 0}\n  - {a: 5, b: 0}\n"
                                            "  - {a: 5, b: 1}\n  - {a: 1, b: 1}\n  - {a: 0, b: 5}\n");
        const SearchSpace space = SearchSpace::parse(text + "time: \"" + guess + "\"\n", "test.yaml");
        RandomThenClimb strategy(space, test_problem(), test_device(), settings(3));
        std::vector<Config> begun;
        for (int i = 0; i < 6; ++i)
            begun.push_back(*strategy.propose());
        return begun;
    };
    const auto config = [](std::int64_t a, std::int64_t b) { return Config{{"a", a}, {"b", b}}; };
    const std::vector<Config> near = defaults_of("100 + 10 * a + b");
    CHECK(std::vector<Config>(near.begin(), near.begin() + 4) ==
          std::vector<Config>{config(0, 0), config(0, 5), config(1, 0), config(1, 1)});
    // Two of them whatever they are worth.
    const std::vector<Config> far = defaults_of("1 + 100 * a + 10 * b");
    CHECK(std::vector<Config>(far.begin(), far.begin() + 2) == std::vector<Config>{config(0, 0), config(0, 5)});
    CHECK(std::count(far.begin(), far.end(), config(5, 1)) == 0);
}

TEST_CASE("a search proposes distinct valid configs") {
    const SearchSpace space = wide_space("  - {a: 1, b: 2, c: 3, d: 4, e: 4}\n");
    for (const std::size_t lag : {0U, 3U, 16U}) {
        const std::vector<Config> configs = search(space, settings(7), 600, lag);
        CHECK(configs.size() == 600);
        CHECK(std::set<Config>(configs.begin(), configs.end()).size() == 600);
        for (const Config& config : configs)
            CHECK(space.violation(test_problem(), test_device(), config).empty());
    }
}

TEST_CASE("a search is repeated by its seed and its reports") {
    const SearchSpace space = wide_space();
    CHECK(search(space, settings(5), 300, 6) == search(space, settings(5), 300, 6));
    CHECK(search(space, settings(5), 300, 6) != search(space, settings(6), 300, 6));
}

TEST_CASE("a search finds the lowest point of a smooth function in a small share of the space") {
    const SearchSpace space = wide_space();
    const Config lowest{{"a", 3}, {"b", 7}, {"c", 2}, {"d", 8}, {"e", 4}};
    // The constraint on a + e rules the very lowest point out: (3 + 4) % 3 == 1.
    REQUIRE_FALSE(space.violation(test_problem(), test_device(), lowest).empty());
    const std::vector<Config> all = all_configs(space, test_problem(), test_device());
    const double best = best_of(all);
    REQUIRE(all.size() > 30000);
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        if (best_of(search(space, settings(seed, 150), 150, 4)) == best) ++found;
    }
    CHECK(found == 20);
}

TEST_CASE("a search exhausts a small space exactly") {
    const SearchSpace space = make_space(
        "  a: {values: [0, 1, 2, 3]}\n  b: {values: [0, 1, 2]}\n  c: {values: [0, 1]}\n  d: {values: [0]}\n"
        "  e: {values: [5]}\n",
        "", "  - \"a + b != 3\"\n", "  - {a: 1, b: 1, c: 1, d: 0, e: 5}\n");
    const std::vector<Config> valid = all_configs(space, test_problem(), test_device());
    for (const std::int64_t budget : {0, 10, 1000}) {
        for (const std::size_t lag : {0U, 2U, 100U}) {
            const std::vector<Config> configs = search(space, settings(1, budget), 1000, lag);
            CHECK(configs.size() == valid.size());
            CHECK(std::set<Config>(configs.begin(), configs.end()) == std::set<Config>(valid.begin(), valid.end()));
        }
    }
}

TEST_CASE("what is known before is not proposed again and is climbed from") {
    const SearchSpace space = wide_space("  - {a: 1, b: 2, c: 3, d: 4, e: 4}\n");
    RandomThenClimb strategy(space, test_problem(), test_device(), settings(1, 0));
    const Config known{{"a", 3}, {"b", 7}, {"c", 2}, {"d", 8}, {"e", 5}};
    strategy.report({{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 4}}, 50.0);
    strategy.report(known, bowl(known));
    const auto first = strategy.propose();
    REQUIRE(first.has_value());
    SearchHistory history(space, test_problem(), test_device(), 1);
    const std::vector<Config> near = history.neighbours(known);
    CHECK(std::find(near.begin(), near.end(), *first) != near.end());
}

TEST_CASE("a space without any valid config ends at once") {
    const SearchSpace space = make_space("  a: {values: [1, 2]}\n", "", "  - \"a > 2\"\n");
    CHECK(search(space, settings(1), 10, 0).empty());
    CHECK(RandomThenClimb(space, test_problem(), test_device(), settings(1)).empty());
    CHECK_FALSE(RandomThenClimb(wide_space(), test_problem(), test_device(), settings(1)).empty());
}
