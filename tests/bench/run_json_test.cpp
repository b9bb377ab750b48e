#include "bench/run_json.hpp"

#include <fstream>

#include "core/error.hpp"
#include "tests/bench/runs_for_tests.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace tconv;
using test::bench_result;
using test::bench_run;

namespace {

BenchRun full_run() {
    BenchRun run = bench_run({bench_result("a", {1.5, 0.1, 1e-7}, {2.25}), bench_result("b", {}, {3})});
    run.seed = 18446744073709551615ULL;
    run.warnings = {"first", "second \"quoted\"\n"};
    BenchResult& first = run.results[0];
    first.mode = Mode::bf16;
    first.problem.dtype = DataType::bf16;
    first.problem.layout = Layout::nhwc;
    first.ours->rung = "exact";
    first.ours->config = {{"tile_w", 16}, {"stages", -2}};
    first.peer->offered = 44;
    first.peer->failed = 3;
    first.peer->refused = "engine 9, 0.2500 ms: the error 0.5 exceeds 0.1";
    first.peer->workspace_bytes = 1LL << 40;
    first.before = {true, "", false, 1980, 3201, 1980, 49, 532.5, {"power cap"}, 377.25, 0, 2};
    first.after = first.before;
    first.warnings = {"another process uses the GPU"};
    run.results[1].ours_reason = "no kernel";
    return run;
}

}  // namespace

TEST_CASE("a run written as JSON and read again is the same run") {
    const std::string text = to_json(full_run());
    const BenchRun read = parse_run(text, "test");
    CHECK(to_json(read) == text);
    REQUIRE(read.results.size() == 2);
    const BenchResult& first = read.results[0];
    CHECK(first.problem == full_run().results[0].problem);
    CHECK(first.mode == Mode::bf16);
    CHECK(first.ours->timing.samples == std::vector<double>{1.5, 0.1, 1e-7});
    CHECK(first.ours->timing.median == 0.1);
    CHECK(first.ours->config == Config{{"tile_w", 16}, {"stages", -2}});
    CHECK(first.peer->offered == 44);
    CHECK_THAT(first.peer->refused, contains("engine 9"));
    CHECK(first.peer->workspace_bytes == 1LL << 40);
    CHECK(first.before.throttle_reasons == std::vector<std::string>{"power cap"});
    CHECK(first.before.other_processes == 2);
    CHECK(first.warnings.size() == 1);
    CHECK(!read.results[1].ours);
    CHECK(read.results[1].ours_reason == "no kernel");
    CHECK(read.seed == 18446744073709551615ULL);
    CHECK(read.ceilings.bf16_flops_per_second == 9e14);
    CHECK(read.peer_version == "9.19.0");
    CHECK(read.warnings == full_run().warnings);
}

TEST_CASE("a run says when its weights were packed; an older one packed them in each call") {
    BenchRun run = bench_run({});
    run.weights_prepared = true;
    const std::string text = to_json(run);
    CHECK(parse_run(text, "test").weights_prepared);
    std::string other = text;
    other.replace(other.find("\"prepared\""), 10, "\"sometimes\"");
    CHECK_THROWS_WITH(parse_run(other, "test"), contains("weights (sometimes)"));
    std::string older = text;
    older.erase(older.find("\"weights\""), std::string("\"weights\": \"prepared\",").size());
    CHECK_FALSE(parse_run(older, "test").weights_prepared);
}

TEST_CASE("a run without a peer keeps the reason") {
    BenchRun run = bench_run({});
    run.peer_version.clear();
    run.peer_reason = "cuDNN needs a GPU";
    const BenchRun read = parse_run(to_json(run), "test");
    CHECK(read.peer_version.empty());
    CHECK(read.peer_reason == "cuDNN needs a GPU");
}

TEST_CASE("what the first format calls fp32 is the strict mode") {
    BenchRun run = bench_run({bench_result("a", {1}, {1}), bench_result("b", {1}, {1})});
    run.results[1].mode = Mode::tf32;
    std::string text = to_json(run);
    CHECK(parse_run(text, "new").results[0].mode == Mode::fp32);
    text.replace(text.find("\"format\": 2"), 11, "\"format\": 1");
    CHECK(parse_run(text, "old").results[0].mode == Mode::strict);
    CHECK(parse_run(text, "old").results[1].mode == Mode::tf32);
}

TEST_CASE("what is no run is refused with the name of the file") {
    const std::string good = to_json(full_run());
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("[]"), std::string("7"),
          std::string("{\"format\": 3, \"results\": []}"),
          std::string("{\"format\": 1, \"results\": 3, \"device\": {}}"),
          std::string("{\"format\": 1, \"results\": [{}], \"device\": {}}"), good.substr(0, good.size() / 2)}) {
        INFO(text.substr(0, 80));
        CHECK_THROWS_WITH(parse_run(text, "old.json"), contains("old.json is no run of tconv bench"));
    }
    CHECK_THROWS_WITH(read_run("/nonexistent/run.json"), contains("/nonexistent/run.json cannot be read"));
}

TEST_CASE("any member that is damaged is refused or ignored, and never more than an Error") {
    const std::string good = to_json(full_run());
    for (std::size_t at = 0; at < good.size(); at += 7) {
        std::string bad = good;
        bad[at] = bad[at] == '"' ? '7' : '"';
        try {
            (void)parse_run(bad, "bad.json");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::bad_input);
        }
    }
}

TEST_CASE("a run is stored in a file and found there again") {
    const test::ScratchFolder folder;
    write_run(full_run(), folder / "run.json");
    CHECK(to_json(read_run(folder / "run.json")) == to_json(full_run()));
    CHECK_THROWS_AS(write_run(full_run(), folder / "missing" / "run.json"), Error);
}
