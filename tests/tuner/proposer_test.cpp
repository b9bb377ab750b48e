#include "tuner/proposer.hpp"

#include <thread>
#include <vector>

#include "tests/tuner/pretended_gpu.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

/// All that comes until the next report.
std::vector<Config> all_proposed(Proposer& proposer, CompilePool& pool) {
    std::vector<Config> configs;
    while (!proposer.is_idle() || pool.outstanding() > 0) {
        if (const auto candidate = pool.take(0.01)) configs.push_back(candidate->config);
    }
    return configs;
}

double time_of(const Config& config) {
    return PretendedGpu::time_of(config);
}

}  // namespace

TEST_CASE("a proposer proposes what the contest would, one more for each report") {
    PretendedGpu gpu;
    std::vector<SearchSpace> spaces;
    spaces.push_back(accuracy_space());
    const auto make = [&] { return Contest(test_problem(), gpu.device(), spaces, 3, 40, 1e-2); };
    Contest plain = make();
    Contest proposed_from = make();
    CompilePool pool(gpu.builder(), 1);
    Proposer proposer(proposed_from, pool, 12, 5);
    std::vector<Config> expected;
    for (int i = 0; i < 5; ++i)
        expected.push_back(plain.next()->config);
    std::vector<Config> proposed = all_proposed(proposer, pool);
    REQUIRE(proposed == expected);
    for (std::size_t i = 0; i < 10; ++i) {
        plain.report(spaces.front().name(), expected[i], time_of(expected[i]));
        proposer.report(spaces.front().name(), expected[i], time_of(expected[i]));
        const std::vector<Config> more = all_proposed(proposer, pool);
        if (expected.size() == 12) {
            CHECK(more.empty());  // all that were to be proposed
            continue;
        }
        expected.push_back(plain.next()->config);
        CHECK(more == std::vector<Config>{expected.back()});
    }
    CHECK(expected.size() == 12);
}

TEST_CASE("a proposer ends at once with proposals not taken and reports not read") {
    PretendedGpu gpu;
    std::vector<SearchSpace> spaces;
    spaces.push_back(accuracy_space());
    Contest contest(test_problem(), gpu.device(), spaces, 3, 40, 1e-2);
    const Config any = contest.next()->config;
    CompilePool pool(gpu.builder(), 1);
    Proposer proposer(contest, pool, 1000, 30);
    proposer.report(spaces.front().name(), any, std::nullopt);
}
