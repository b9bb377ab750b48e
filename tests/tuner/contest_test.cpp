#include "tuner/contest.hpp"

#include <set>

#include "kernel_sources/sources.hpp"
#include "tests/support/contains.hpp"
#include "tests/tuner/spaces_for_tests.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

const std::vector<SearchSpace>& shipped() {
    static const auto spaces = load_search_spaces();
    return spaces;
}

Contest contest(std::uint64_t seed, const Problem& problem = test_problem()) {
    return {problem, test_device(), shipped(), seed, 100, 1e-4};
}

}  // namespace

TEST_CASE("the same seed proposes the same candidates, each once and ready to compile") {
    Contest first = contest(5);
    Contest again = contest(5);
    Contest other = contest(6);
    std::set<Config> configs;
    int differing = 0;
    for (int i = 0; i < 40; ++i) {
        const auto candidate = first.next();
        REQUIRE(candidate.has_value());
        CHECK(candidate->config == again.next()->config);
        differing += candidate->config == other.next()->config ? 0 : 1;
        CHECK(candidate->problem == test_problem());
        CHECK(candidate->tolerance == 1e-4);
        CHECK_NOTHROW(check_plan(candidate->plan, test_problem(), test_device()));
        configs.insert(candidate->config);
    }
    CHECK(configs.size() == 40);
    CHECK(differing > 20);
}

TEST_CASE("what is reported is not proposed again, and steers the search") {
    Contest contest_so_far = contest(5);
    const auto first = contest_so_far.next();
    Contest resumed = contest(5);
    resumed.report(first->template_name, first->config, 1.0);
    for (int i = 0; i < 60; ++i)
        CHECK(resumed.next()->config != first->config);
}

TEST_CASE("what is asked for first is proposed in that order, before any family's turn, and once") {
    std::vector<Candidate> later;
    Contest source = contest(5);
    for (int i = 0; i < 30; ++i)
        later.push_back(*source.next());
    Contest asked = contest(6);
    for (const std::size_t i : {25U, 11U, 29U})
        CHECK(asked.propose_first(later[i].template_name, later[i].config));
    CHECK_FALSE(asked.propose_first(later[11].template_name, later[11].config));
    for (const std::size_t i : {25U, 11U, 29U}) {
        const auto candidate = asked.next();
        REQUIRE(candidate);
        CHECK(candidate->template_name == later[i].template_name);
        CHECK(candidate->config == later[i].config);
        CHECK(candidate->plan == later[i].plan);
    }
    std::set<Config> others;
    for (int i = 0; i < 60; ++i)
        others.insert(asked.next()->config);
    CHECK(others.size() == 60);
    for (const std::size_t i : {25U, 11U, 29U})
        CHECK_FALSE(others.contains(later[i].config));
}

TEST_CASE("what is known already cannot be asked for first") {
    Contest asked = contest(5);
    const Candidate known = *contest(5).next();
    asked.report(known.template_name, known.config, 1.0);
    CHECK_FALSE(asked.propose_first(known.template_name, known.config));
}

TEST_CASE("the families of a contest carry the hash of their templates") {
    const Contest entered = contest(1);
    REQUIRE(!entered.families().empty());
    CHECK(entered.template_hash_of("fma") == template_hash("fma.cu"));
}

TEST_CASE("a problem that no family takes is refused with each family's reason") {
    Problem problem = test_problem();
    problem.dtype = DataType::f16;
    DeviceInfo old_device = test_device();
    old_device.compute_major = 7;
    CHECK_THROWS_WITH(Contest(problem, old_device, shipped(), 1, 100, 1e-4, true),
                      contains("direct needs dtype f32") && contains("mma needs compute capability 8.0"));
}
