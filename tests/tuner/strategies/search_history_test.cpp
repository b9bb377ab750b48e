#include "tuner/strategies/search_history.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "tests/catch.hpp"
#include "tests/tuner/strategies/strategies_for_tests.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

const std::string k_gap = "  a: {values: [1, 2, 3, 4]}\n  b: {values: [0, 1]}\n";

}  // namespace

TEST_CASE("a step goes over values that are not valid") {
    const SearchSpace space = make_space(k_gap, "", "  - \"a != 2 || b == 1\"\n");
    const SearchHistory history(space, test_problem(), test_device(), 1);
    CHECK(history.neighbours({{"a", 1}, {"b", 0}}) == std::vector<Config>{{{"a", 3}, {"b", 0}}, {{"a", 1}, {"b", 1}}});
    CHECK(history.neighbours({{"a", 2}, {"b", 1}}) == std::vector<Config>{{{"a", 1}, {"b", 1}}, {{"a", 3}, {"b", 1}}});
}

TEST_CASE("a pair step changes exactly two parameters by one step") {
    const SearchSpace space = wide_space();
    const SearchHistory history(space, test_problem(), test_device(), 1);
    const Config config{{"a", 3}, {"b", 7}, {"c", 0}, {"d", 8}, {"e", 5}};
    std::set<Config> expected;
    for (const Config& other : all_configs(space, test_problem(), test_device())) {
        int changed = 0;
        bool single_steps = true;
        for (const auto& [name, value] : other) {
            const std::int64_t distance = std::abs(value - config.at(name));
            changed += distance != 0 ? 1 : 0;
            single_steps = single_steps && distance <= 1;
        }
        if (changed == 2 && single_steps) expected.insert(other);
    }
    const std::vector<Config> found = history.pair_neighbours(config);
    CHECK(found.size() == expected.size());
    CHECK(std::set<Config>(found.begin(), found.end()) == expected);
}

TEST_CASE("reports are kept by config") {
    const SearchSpace space = make_space(k_gap);
    SearchHistory history(space, test_problem(), test_device(), 1);
    const Config first{{"a", 1}, {"b", 0}};
    const Config second{{"a", 2}, {"b", 0}};
    history.mark_proposed(first);
    CHECK(history.is_proposed(first));
    CHECK_FALSE(history.time_of(first).has_value());
    history.report(first, 2.5);
    history.report(second, std::nullopt);
    CHECK(history.time_of(first) == 2.5);
    CHECK(history.time_of(second) == SearchHistory::k_failed);
    CHECK(history.is_proposed(second));
    CHECK(history.timed() == std::vector<Config>{first});

    history.report(second, std::numeric_limits<double>::quiet_NaN());
    CHECK(history.time_of(second) == SearchHistory::k_failed);
    history.report(second, 1.5);
    history.report(first, 2.25);
    CHECK(history.timed() == std::vector<Config>{first, second});
    CHECK(history.time_of(first) == 2.25);
}

TEST_CASE("reports of configs outside the space are ignored") {
    const SearchSpace space = make_space(k_gap, "", "  - \"a != 2\"\n");
    SearchHistory history(space, test_problem(), test_device(), 1);
    for (const Config& config : std::vector<Config>{{{"a", 2}, {"b", 0}}, {{"a", 9}, {"b", 0}}, {{"a", 1}}, {}}) {
        history.report(config, 1.0);
        CHECK_FALSE(history.is_proposed(config));
    }
    CHECK(history.timed().empty());
}
