#include "bench/compare.hpp"

#include "tests/bench/runs_for_tests.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using test::bench_result;
using test::bench_run;

namespace {

/// Samples round `middle` whose quartiles lie `spread` (relative) beside it.
std::vector<double> samples(double middle, double spread) {
    return {middle * (1 - 2 * spread), middle * (1 - spread), middle, middle * (1 + spread), middle * (1 + 2 * spread)};
}

RunComparison changed(double factor, double spread) {
    return compare_runs(bench_run({bench_result("a", samples(1, spread), {})}),
                        bench_run({bench_result("a", samples(factor, spread), {})}));
}

}  // namespace

TEST_CASE("a run does not differ from itself") {
    const BenchRun run = bench_run({bench_result("a", {1, 2, 3}, {4, 5, 6}), bench_result("b", {7}, {})});
    const RunComparison same = compare_runs(run, run);
    CHECK(same.slower.empty());
    CHECK(same.faster.empty());
    CHECK(same.unchanged == 3);
    CHECK(same.warnings.empty());
}

TEST_CASE("quiet samples make a small change known, noisy ones hide a large one") {
    CHECK(changed(1.05, 0.001).slower.size() == 1);
    CHECK(changed(1 / 1.05, 0.001).faster.size() == 1);
    CHECK(changed(1.015, 0.0001).unchanged == 1);  // so far two runs differ by themselves
    CHECK(changed(1.2, 0.2).unchanged == 1);
    CHECK(changed(4, 0.2).slower.size() == 1);
}

TEST_CASE("swapping two runs swaps slower and faster") {
    const BenchRun before = bench_run({bench_result("a", {1, 1, 1}, {3, 3, 3}), bench_result("b", {2, 2, 2}, {})});
    const BenchRun after = bench_run({bench_result("a", {1.5, 1.5, 1.5}, {2, 2, 2}), bench_result("b", {1, 1, 1}, {})});
    const RunComparison forth = compare_runs(before, after);
    const RunComparison back = compare_runs(after, before);
    REQUIRE(forth.slower.size() == 1);
    REQUIRE(forth.faster.size() == 2);
    CHECK(forth.slower[0].layer == "a");
    CHECK(!forth.slower[0].peer);
    CHECK(forth.faster[0].layer == "b");  // the larger change first: to a half, then to two thirds
    CHECK(forth.faster[1].peer);
    CHECK(back.slower.size() == 2);
    CHECK(back.faster.size() == 1);
}

TEST_CASE("times with weights packed before are not compared with others") {
    const BenchRun before = bench_run({bench_result("a", {1, 1, 1}, {3, 3, 3})});
    BenchRun after = bench_run({bench_result("a", {2, 2, 2}, {4, 4, 4})});
    after.weights_prepared = true;
    const RunComparison comparison = compare_runs(before, after);
    REQUIRE(comparison.slower.size() == 1);
    CHECK(comparison.slower[0].peer);
    CHECK(comparison.unchanged == 0);
    REQUIRE(comparison.warnings.size() == 1);
    CHECK(comparison.warnings[0].find("packed before") != std::string::npos);
    CHECK(compare_runs(after, after).unchanged == 2);
}

TEST_CASE("layers that only one run has, and other surroundings, are named") {
    BenchRun before = bench_run({bench_result("a", {1}, {}), bench_result("b", {1}, {})});
    BenchRun after = bench_run({bench_result("b", {1}, {}), bench_result("c", {1}, {})});
    after.driver_version = "13.1";
    after.peer_version = "";
    const RunComparison comparison = compare_runs(before, after);
    CHECK(comparison.only_old == std::vector<std::string>{"a fp32 nchw"});
    CHECK(comparison.only_new == std::vector<std::string>{"c fp32 nchw"});
    REQUIRE(comparison.warnings.size() == 2);
    CHECK(comparison.warnings[0] == "the driver differs: 13.0 before, 13.1 now");
    CHECK(comparison.warnings[1] == "the peer's version differs: 9.19.0 before, none now");
}
