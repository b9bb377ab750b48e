#include "tuner/strategies/promising_draws.hpp"

#include <set>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/strategies/strategies_for_tests.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

/// Draws from all configs of some parameters with the values 0 to `values` - 1, and proposes from them.
struct Draws {
    std::vector<std::string> parameters;
    std::uint64_t values;
    Random random;
    PromisingDraws promising{};
    std::set<Config> proposed{};

    std::optional<Config> next(const PromisingDraws::Guess& guess) {
        const auto draw = [&]() -> std::optional<Config> {
            for (int tries = 0; tries < 1000; ++tries) {
                Config config;
                for (const std::string& name : parameters)
                    config[name] = static_cast<std::int64_t>(draw_below(random, values));
                if (!proposed.contains(config)) return config;
            }
            return std::nullopt;
        };
        const auto neighbour = [&](const Config& config) -> std::optional<Config> {
            Config there = config;
            there[parameters[draw_below(random, parameters.size())]] =
                static_cast<std::int64_t>(draw_below(random, values));
            if (there == config) return std::nullopt;
            return there;
        };
        auto config =
            promising.next(random, {draw, guess, [&](const Config& c) { return proposed.contains(c); }, neighbour});
        if (config) proposed.insert(*config);
        return config;
    }
};

int differences(const Config& a, const Config& b) {
    int count = 0;
    for (const auto& [name, value] : a)
        count += b.at(name) != value ? 1 : 0;
    return count;
}

Draws wide_draws(std::uint64_t seed) {
    return {{"a", "b", "c", "d", "e"}, 10, Random(seed)};
}

}  // namespace

TEST_CASE("promising draws begin where the guess is best, and go on with others that are unlike") {
    Draws draws = wide_draws(3);
    std::vector<Config> found;
    for (int i = 0; i < 20; ++i) {
        const auto config = draws.next(bowl);
        REQUIRE(config.has_value());
        // The guess is 1 at best and 80 on average.
        CHECK(bowl(*config) < (i == 0 ? 3 : 30));
        for (const Config& other : found)
            CHECK(differences(*config, other) >= 2);
        found.push_back(*config);
    }
}

TEST_CASE("promising draws go through a small space once") {
    Draws draws{{"a", "b"}, 3, Random(5)};
    const auto guess = [](const Config& config) { return static_cast<double>(config.at("a")); };
    std::set<Config> found;
    while (const auto config = draws.next(guess))
        CHECK(found.insert(*config).second);
    CHECK(found.size() == 9);
}

TEST_CASE("promising draws depend on the seed alone") {
    Draws one = wide_draws(7);
    Draws same = wide_draws(7);
    Draws other = wide_draws(8);
    int different = 0;
    for (int i = 0; i < 10; ++i) {
        const auto config = one.next(bowl);
        CHECK(config == same.next(bowl));
        different += config != other.next(bowl) ? 1 : 0;
    }
    CHECK(different > 0);
}
