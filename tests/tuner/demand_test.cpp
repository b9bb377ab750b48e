// What a session demands of a config: within its tolerance, strict where it asks for that, and quick to compile.

#include "tuner/demand.hpp"

#include <algorithm>
#include <set>

#include "tests/tuner/spaces_for_tests.hpp"
#include "tuner/contest.hpp"
#include "tuner/strategies/random.hpp"
#include "tuner/strategies/random_then_climb.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

// By hand, not by the file's expressions.
double error_of_math(const Config& config) {
    return std::vector<double>{0, 1e-3, 2e-6, 2.5e-5}.at(static_cast<std::size_t>(config.at("math")));
}

double seconds_of(const Config& config) {
    return static_cast<double>(config.at("tile")) * (config.at("math") == 0 ? 0.1 : 1);
}

bool meets(const Config& config, const Demand& demand) {
    return error_of_math(config) <= demand.tolerance && (config.at("math") == 0 || !demand.strict) &&
           seconds_of(config) <= demand.compile_seconds;
}

const char* const k_defaults =
    "  - {tile: 32, math: 1, block: 64, depth: 2}\n"
    "  - {tile: 8, math: 3, block: 64, depth: 2}\n"
    "  - {tile: 2, math: 1, block: 64, depth: 2}\n"
    "  - {tile: 4, math: 2, block: 64, depth: 2}\n"
    "  - {tile: 32, math: 0, block: 64, depth: 2}\n";

std::vector<Demand> demands() {
    std::vector<Demand> all;
    for (const double tolerance : {0.0, 1e-6, 2e-6, 1e-5, 1e-4, 1e-3, 1.0}) {
        for (const bool strict : {false, true}) {
            for (const double seconds : {0.5, 4.0, 20.0, 1e9})
                all.push_back({tolerance, strict, seconds});
        }
    }
    return all;
}

}  // namespace

TEST_CASE("whatever is demanded, what a space gives out meets it, and nothing that meets it is left out") {
    const SearchSpace space = accuracy_space("test", k_defaults);
    const std::vector<Config> all = all_configs(space, test_problem(), test_device());
    for (const Demand& demand : demands()) {
        INFO("tolerance " << demand.tolerance << ", strict " << demand.strict << ", " << demand.compile_seconds
                          << " s");
        std::set<Config> wanted;
        std::copy_if(all.begin(), all.end(), std::inserter(wanted, wanted.end()),
                     [&](const Config& config) { return meets(config, demand); });
        for (const Config& config : all)
            CHECK(space.violation(test_problem(), test_device(), config, demand).empty() == wanted.contains(config));
        Random random(3);
        std::set<Config> drawn;
        while (const auto config = space.draw(
                   test_problem(), test_device(), [&](std::uint64_t count) { return draw_below(random, count); },
                   [&](const Config& one) { return !drawn.contains(one); }, demand))
            drawn.insert(*config);
        CHECK(drawn == wanted);
        for (const Config& config : wanted) {
            for (const Config& neighbour : space.neighbours(test_problem(), test_device(), config, demand))
                CHECK(wanted.contains(neighbour));
        }
    }
}

TEST_CASE("a search never proposes what its demand excludes, whatever it is told") {
    for (const Demand& demand : demands()) {
        if (demand.compile_seconds < 4) continue;
        const SearchSpace space = accuracy_space("test", k_defaults);
        SearchSettings settings;
        settings.budget = 40;
        RandomThenClimb search(space, test_problem(), test_device(), settings, demand);
        // Known from a session of a looser tolerance: the fastest of all, outside this one's reach.
        search.report({{"tile", 1}, {"math", 1}, {"block", 32}, {"depth", 1}}, 0.01);
        std::size_t proposals = 0;
        while (const auto config = search.propose()) {
            Demand allowed = demand;  // a default may take any time to compile
            if (proposals < 5) allowed.compile_seconds = 1e9;
            CHECK(meets(*config, allowed));
            search.report(*config, 1.0 + static_cast<double>(proposals % 7));
            if (++proposals == 120) break;
        }
        CHECK(proposals > 50);
    }
}

TEST_CASE("a demand prunes: a draw tests no config below a value that breaks it") {
    const SearchSpace space = accuracy_space();
    Random random(1);
    std::int64_t asked = 0;
    const auto config = space.draw(
        test_problem(), test_device(), [&](std::uint64_t count) { return draw_below(random, count); },
        [&](const Config& candidate) {
            ++asked;
            CHECK(candidate.at("math") == 0);
            return false;
        },
        {1.0, true});
    CHECK(!config);
    // Every strict config is offered, in the attempts and in the whole search at the end, and no other is.
    CHECK(asked >= static_cast<std::int64_t>(all_configs(space, test_problem(), test_device()).size()) / 4);
}

TEST_CASE("a broken demand is told in words") {
    const SearchSpace space = accuracy_space();
    const auto violation = [&](const Config& config, const Demand& demand) {
        return space.violation(test_problem(), test_device(), config, demand);
    };
    const Config config{{"tile", 32}, {"math", 3}, {"block", 32}, {"depth", 1}};
    CHECK(violation(config, {}).empty());
    CHECK(violation(config, {1e-5}) == "its error would be up to 2.5e-05, above the tolerance 1e-05");
    CHECK(violation(config, {1, true}) == "this is tensor core arithmetic");
    CHECK(violation(config, {1, false, 20}) == "it would take about 32 s to compile");
    const Expectation expected = space.expectation(test_problem(), test_device(), config);
    CHECK(expected.error == 2.5e-5);
    CHECK(!expected.strict);
    CHECK(expected.compile_seconds == 32);
}

TEST_CASE("a file that says nothing of accuracy and cost describes plain fp32 kernels") {
    const SearchSpace space = make_space("  tile: {values: [1, 2]}\n");
    const Expectation expected = space.expectation(test_problem(), test_device(), {{"tile", 1}});
    CHECK(expected.error == 0);
    CHECK(expected.strict);
    CHECK(expected.compile_seconds == 0);
    CHECK(space.violation(test_problem(), test_device(), {{"tile", 1}}, {0, true, 0}).empty());
}

TEST_CASE("defaults that take more than twice as long as another come after it; the others keep their order") {
    const SearchSpace space = accuracy_space("test", k_defaults);
    std::vector<std::int64_t> tiles;
    for (const Config& config : space.defaults(test_problem(), test_device(), {1.0, false, 20}))
        tiles.push_back(config.at("tile"));
    CHECK(tiles == std::vector<std::int64_t>{2, 4, 32, 8, 32});  // 2 s, 4 s, 3.2 s (plain), 8 s, 32 s
    CHECK(space.defaults(test_problem(), test_device(), {1e-4}).size() == 3);
    CHECK(space.defaults(test_problem(), test_device(), {1.0, true}).size() == 1);
}

TEST_CASE("faulty expressions of accuracy and cost are errors with their line") {
    const auto with = [](const std::string& lines) {
        return error_of([&] { (void)SearchSpace::parse(space_text("  tile: {values: [1, 2]}\n") + lines, "a.yaml"); });
    };
    check_holds(with("error: \"tiel\"\n"), "a.yaml:12: unknown name tiel");
    check_holds(with("error: \"-tile\"\n"), "a.yaml:12: error \"-tile\" is -1, but must be at least 0");
    check_holds(with("strict: \"tile + 1\"\n"), "a.yaml:12: the rule \"tile + 1\" is 2, which is neither 0 nor 1");
    check_holds(with("cost: \"0 - 1.5\"\n"), "a.yaml:12: cost \"0 - 1.5\" is -1.5, but must be at least 0");
    check_holds(with("cost: [1]\n"), "cost must be an expression");
}

TEST_CASE("a contest keeps to its tolerance and strictness, and says why no family can") {
    std::vector<SearchSpace> spaces;
    spaces.push_back(accuracy_space("test", k_defaults));
    spaces.push_back(accuracy_space("tensor", "", "[1, 2, 3]"));
    for (const bool strict : {false, true}) {
        for (const double tolerance : {1e-6, 1e-5, 1e-4, 1e-2}) {
            Contest contest(test_problem(), test_device(), spaces, 1, 60, tolerance, strict);
            CHECK(contest.families().size() == (strict || tolerance < 2e-6 ? 1 : 2));
            for (int i = 0; i < 60; ++i) {
                const auto candidate = contest.next();
                REQUIRE(candidate);
                CHECK(meets(candidate->config, {tolerance, strict, 40}));
                CHECK(contest.admits(candidate->template_name, candidate->config));
                CHECK(contest.expectation(candidate->template_name, candidate->config)->strict ==
                      (candidate->config.at("math") == 0));
                contest.report(candidate->template_name, candidate->config, 1.0 + i % 5);
            }
            CHECK(contest.admits("test", {{"tile", 1}, {"math", 1}, {"block", 32}, {"depth", 1}}) ==
                  (!strict && tolerance >= 1e-3));
        }
    }
    spaces.erase(spaces.begin());
    const auto refusal = [&](double tolerance, bool strict) {
        return error_of([&] { Contest(test_problem(), test_device(), spaces, 1, 60, tolerance, strict); });
    };
    check_holds(refusal(1e-6, false), "tensor has no valid config for it within the tolerance 1e-06");
    check_holds(refusal(1e-2, true), "tensor has no valid config in plain fp32 arithmetic for it");
}
