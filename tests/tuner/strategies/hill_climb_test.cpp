#include "tuner/strategies/hill_climb.hpp"

#include <algorithm>
#include <set>

#include "tests/catch.hpp"
#include "tests/tuner/strategies/strategies_for_tests.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

const std::string k_plane =
    "  a: {values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}\n"
    "  b: {values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}\n";

double slope(const Config& config) {
    return 1 + static_cast<double>(18 - config.at("a") - config.at("b"));
}

// A narrow valley along a = b that falls towards (9, 9): no single step leads down along it.
double valley(const Config& config) {
    const auto a = static_cast<double>(config.at("a"));
    const auto b = static_cast<double>(config.at("b"));
    return 100 + 10 * std::fabs(a - b) - a - b;
}

bool holds(const std::vector<Config>& configs, const Config& config) {
    return std::find(configs.begin(), configs.end(), config) != configs.end();
}

}  // namespace

TEST_CASE("a climb goes straight up from the best known config") {
    const SearchSpace space = make_space(k_plane);
    SearchHistory history(space, test_problem(), test_device(), 1);
    HillClimb strategy(history);
    strategy.report({{"a", 5}, {"b", 5}}, slope({{"a", 5}, {"b", 5}}));
    // 8 steps, of 4 neighbours each at most, those behind known already.
    CHECK(holds(run(strategy, 26, 0, slope), {{"a", 9}, {"b", 9}}));
}

TEST_CASE("a climb changes two parameters where one does not help") {
    const SearchSpace space = make_space(k_plane);
    SearchHistory history(space, test_problem(), test_device(), 1);
    HillClimb strategy(history, {1, 1});
    strategy.report({{"a", 5}, {"b", 5}}, valley({{"a", 5}, {"b", 5}}));
    CHECK(holds(run(strategy, 40, 0, valley), {{"a", 9}, {"b", 9}}));
}

TEST_CASE("a climb that is stuck starts again elsewhere") {
    // Two bowls with nothing but failures between them; the deeper one is far from the start.
    const auto islands = [](const Config& config) -> std::optional<double> {
        const std::int64_t a = config.at("a");
        const std::int64_t b = config.at("b");
        if (a <= 2 && b <= 2) return 10.0 + static_cast<double>(a + b);
        if (a >= 6 && b >= 6) return 5.0 + static_cast<double>(18 - a - b);
        return std::nullopt;
    };
    const SearchSpace space = make_space(k_plane);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SearchHistory history(space, test_problem(), test_device(), seed);
        HillClimb strategy(history);
        strategy.report({{"a", 1}, {"b", 1}}, 12.0);
        CHECK(holds(run(strategy, 70, 0, islands), {{"a", 9}, {"b", 9}}));
    }
}

TEST_CASE("a climb without any known config begins with random ones") {
    const SearchSpace space = wide_space();
    SearchHistory history(space, test_problem(), test_device(), 2);
    HillClimb strategy(history);
    CHECK(run(strategy, 20, 20, bowl).size() == 20);
}

TEST_CASE("a climb tries the neighbours of the shortest guesses first") {
    const SearchSpace space =
        SearchSpace::parse(space_text(k_plane, "", "") + "time: \"100 + 10 * a + (b - 5) * (b - 5)\"\n", "test.yaml");
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SearchHistory history(space, test_problem(), test_device(), seed);
        HillClimb strategy(history);
        strategy.report({{"a", 5}, {"b", 4}}, 1.0);
        const auto slower = [](const Config&) { return 2.0; };
        CHECK(run(strategy, 4, 0, slower) ==
              std::vector<Config>{
                  {{"a", 4}, {"b", 4}}, {{"a", 5}, {"b", 5}}, {{"a", 5}, {"b", 3}}, {{"a", 6}, {"b", 4}}});
    }
}

TEST_CASE("a climb exhausts a space exactly") {
    const SearchSpace space = make_space(k_plane, "", "  - \"(a * b) % 4 != 1\"\n");
    const std::vector<Config> valid = all_configs(space, test_problem(), test_device());
    for (const std::size_t lag : {0U, 1U, 7U, 1000U}) {
        SearchHistory history(space, test_problem(), test_device(), 3);
        HillClimb strategy(history);
        const std::vector<Config> configs = run(strategy, 1000, lag, slope);
        CHECK(configs.size() == valid.size());
        CHECK(std::set<Config>(configs.begin(), configs.end()) == std::set<Config>(valid.begin(), valid.end()));
        CHECK_FALSE(strategy.propose().has_value());
    }
}

TEST_CASE("a climb where everything fails still exhausts the space") {
    const SearchSpace space = make_space(k_plane);
    SearchHistory history(space, test_problem(), test_device(), 3);
    HillClimb strategy(history);
    const auto failure = [](const Config&) { return std::optional<double>(); };
    CHECK(run(strategy, 1000, 2, failure).size() == 100);
}
