#include "tuner/turns.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/tuner/spaces_for_tests.hpp"
#include "tuner/contest.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

/// Turns of families whose trials all take these milliseconds (0: they fail); reports lag behind by `lag`.
std::vector<int> shares(const std::vector<double>& milliseconds, int turns, int lag = 0) {
    Turns order(milliseconds.size());
    std::vector<int> counts(milliseconds.size());
    std::vector<std::size_t> outstanding;
    for (int i = 0; i < turns; ++i) {
        const std::size_t family = order.next().value();
        ++counts[family];
        outstanding.push_back(family);
        if (static_cast<int>(outstanding.size()) <= lag) continue;
        const double time = milliseconds[outstanding.front()];
        order.report(outstanding.front(), time > 0 ? std::optional(time) : std::nullopt);
        outstanding.erase(outstanding.begin());
    }
    return counts;
}

}  // namespace

TEST_CASE("families alike get the same share") {
    for (const int lag : {0, 3, 16})
        CHECK(shares({2, 2, 2}, 300, lag) == std::vector<int>{100, 100, 100});
}

TEST_CASE("the family that leads gets most turns, and the others as many as their times are worth") {
    const std::vector<int> counts = shares({2, 1, 4}, 1000);
    CHECK(counts[1] > 700);
    CHECK(counts[0] > 2 * counts[2]);
    CHECK(counts[2] > 40);
}

TEST_CASE("no family is starved before it has had its trials, one that always fails included") {
    for (const double milliseconds : {1000.0, 0.0}) {
        Turns order(2);
        int right = 0;
        for (int i = 0; i < 60; ++i) {
            const std::size_t family = order.next().value();
            const bool failing = family == 1 && milliseconds == 0;
            if (family == 1) ++right;
            order.report(family, failing ? std::nullopt : std::optional(family == 0 ? 1.0 : milliseconds));
            if (i == 15) CHECK(right == 8);
        }
        CHECK(right <= (milliseconds == 0 ? 26 : 12));
        CHECK(right >= 8);
    }
}

TEST_CASE("a slow family still gets a turn now and then, and all once it leads") {
    Turns order(2);
    for (int i = 0; i < 20; ++i) {
        order.report(0, 1.0);
        order.report(1, 100.0);
    }
    int slow = 0;
    for (int i = 0; i < 330; ++i)
        slow += order.next().value() == 1 ? 1 : 0;
    CHECK(slow == 10);
    order.report(1, 0.1);
    int leading = 0;
    for (int i = 0; i < 330; ++i)
        leading += order.next().value() == 1 ? 1 : 0;
    CHECK(leading > 310);
}

TEST_CASE("a new family's turns fall with the square of how slow it promises to be, to a sixteenth") {
    Turns order(4);
    order.promise(0, 10.0);
    order.promise(1, 20.0);
    order.promise(2, 1000.0);  // the last one promises nothing, and is taken for as fast as the fastest
    std::array<int, 4> turns{};
    for (int i = 0; i < 4; ++i)
        CHECK(order.next() == static_cast<std::size_t>(i));
    for (int i = 0; i < 370; ++i)
        ++turns[order.next().value()];
    CHECK(turns == std::array<int, 4>{160, 40, 10, 160});
    // Times that were measured count more than promises.
    for (int i = 0; i < 8; ++i)
        order.report(2, 1.0);
    turns = {};
    for (int i = 0; i < 10; ++i)
        ++turns[order.next().value()];
    CHECK(turns[2] >= 3);
}

TEST_CASE("a family that has left gets no turn, and without any there is none") {
    Turns order(2);
    order.leave(0);
    for (int i = 0; i < 5; ++i)
        CHECK(order.next() == 1U);
    order.leave(1);
    CHECK(!order.next());
    CHECK(!Turns(0).next());
}

TEST_CASE("families without trials take turns, then a fast family gets most of the trials") {
    std::vector<SearchSpace> spaces;
    spaces.push_back(accuracy_space("slow",
                                    "  - {tile: 1, math: 0, block: 32, depth: 1}\n"
                                    "  - {tile: 2, math: 0, block: 32, depth: 1}\n"
                                    "  - {tile: 4, math: 0, block: 32, depth: 1}\n"));
    spaces.push_back(accuracy_space("fast", "  - {tile: 1, math: 2, block: 32, depth: 1}\n"));
    Contest contest(test_problem(), test_device(), spaces, 7, 200, 1e-4);
    Contest again(test_problem(), test_device(), spaces, 7, 200, 1e-4);
    std::map<std::string, int> counts;
    std::vector<std::string> families;
    for (int i = 0; i < 120; ++i) {
        const auto candidate = contest.next();
        REQUIRE(candidate);
        const auto twin = again.next();
        CHECK(twin->config == candidate->config);
        CHECK(twin->template_name == candidate->template_name);
        ++counts[candidate->template_name];
        families.push_back(candidate->template_name);
        for (Contest* one : {&contest, &again})
            one->report(candidate->template_name, candidate->config, candidate->template_name == "fast" ? 1.0 : 4.0);
    }
    CHECK(std::vector<std::string>(families.begin(), families.begin() + 4) ==
          std::vector<std::string>{"slow", "fast", "slow", "fast"});
    CHECK(counts["fast"] > 90);
    CHECK(counts["slow"] >= 8);
}
