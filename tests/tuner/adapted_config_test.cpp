#include "tuner/adapted_config.hpp"

#include <random>

#include "tests/support/h200.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/tuner/spaces_for_tests.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

SearchSpace space() {
    return make_space("  tile: {values: [1, 2, 4]}\n  late: {values: [0, 7], former: 7}\n  last: {values: [3, 5]}\n",
                      "", "  - \"tile * late <= 14\"\n");
}

std::optional<Config> adapted(const Config& former) {
    return adapted_config(space(), test_problem(), test_device(), former);
}

}  // namespace

TEST_CASE("a config of the same parameters stays as it is") {
    const Config config{{"tile", 4}, {"late", 0}, {"last", 3}};
    CHECK(adapted(config) == config);
}

TEST_CASE("a parameter that came later has its former value, and one that is gone is dropped") {
    const Config now{{"tile", 2}, {"late", 7}, {"last", 5}};
    CHECK(adapted({{"tile", 2}, {"last", 5}}) == now);
    CHECK(adapted({{"tile", 2}, {"last", 5}, {"gone", 1}}) == now);
}

TEST_CASE("a config is nothing here where a parameter has no former value, or the result is not valid") {
    CHECK_FALSE(adapted({{"tile", 2}, {"late", 0}}));  // last has none
    CHECK_FALSE(adapted({{"tile", 8}, {"last", 5}}));  // no value of tile any more
    CHECK_FALSE(adapted({{"tile", 4}, {"last", 5}}));  // breaks a rule with late = 7
    CHECK(adapted({{"tile", 4}, {"late", 0}, {"last", 5}}));
    CHECK_FALSE(adapted({}));
}

TEST_CASE("an adapted config meets the demand") {
    const SearchSpace accuracy = accuracy_space();
    const Config tf32{{"tile", 4}, {"math", 1}, {"block", 64}};
    const auto under = [&](const Demand& demand) {
        return adapted_config(accuracy, test_problem(), test_device(), tf32, demand);
    };
    CHECK(under({1e-2}) == Config{{"tile", 4}, {"math", 1}, {"block", 64}, {"depth", 1}});
    CHECK_FALSE(under({1e-4}));
    CHECK_FALSE(under({1e-2, true}));
}

TEST_CASE("a shipped family's config with the former values of what came later is what one without them stands for") {
    test::Draw draw(11);
    const auto spaces = load_search_spaces();
    std::size_t checked = 0;
    for (int round = 0; round < test::rounds(40); ++round) {
        const Problem problem = test::draw_problem(draw);
        for (const SearchSpace& family : spaces) {
            if (!family.refusal(problem, test::h200()).empty()) continue;
            const auto below = [&](std::uint64_t count) {
                return static_cast<std::uint64_t>(draw.between(0, static_cast<std::int64_t>(count) - 1));
            };
            auto config = family.draw(problem, test::h200(), below, [](const Config&) { return true; });
            if (!config) continue;
            Config before = *config;
            for (const Parameter& parameter : family.parameters()) {
                if (!parameter.former) continue;
                (*config)[parameter.name] = *parameter.former;
                before.erase(parameter.name);
            }
            const bool valid = family.violation(problem, test::h200(), *config).empty();
            CHECK(adapted_config(family, problem, test::h200(), before) == (valid ? config : std::optional<Config>()));
            checked += valid ? 1 : 0;
        }
    }
    CHECK(checked > 20);
}
