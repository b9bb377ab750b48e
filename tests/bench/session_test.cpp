#include "bench/session.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

#include "tests/bench/runs_for_tests.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/packing_winner.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tuner/local_evaluator.hpp"
#include "tuner/session.hpp"

using namespace tconv;

namespace {

/// A session on the emulator, without a peer, with a database of its own.
struct Emulation {
    explicit Emulation(double tune_seconds = 0) : source{laboratory, &database, spaces, 1, tune_seconds, false} {}

    BenchResult measure(const Problem& problem, Mode mode = Mode::fp32, bool weights_prepared = false) {
        source.weights_prepared = weights_prepared;
        BenchSession session(source, {nullptr, "no peer here", std::int64_t{1} << 30, false, {}}, nullptr);
        return session.measure({"layer", "group", problem, mode}, [](const std::string&) {}, {});
    }

    test::Emulated& emulated = test::emulated();
    test::ScratchFolder folder;
    Database database{folder / "tconv.db", OpenMode::read_write};
    std::vector<SearchSpace> spaces = load_search_spaces();
    Laboratory laboratory{*emulated.device, *emulated.compiler};
    KernelSource source;
};

}  // namespace

TEST_CASE("a tuned problem is measured with its winner") {
    Emulation emulation;
    TuneRequest request;
    request.problem = test::bench_problem();
    request.trials = 3;
    LocalEvaluator evaluator(emulation.laboratory);
    const TuneResult tuned = tune(request, {evaluator, &emulation.database, emulation.spaces, 2}, {}, {});
    REQUIRE(tuned.winner.has_value());
    const BenchResult result = emulation.measure(test::bench_problem());
    REQUIRE(result.ours.has_value());
    CHECK(result.ours->description == tuned.winner->template_name);
    CHECK(result.ours->rung == "exact");
    CHECK(result.ours->config == tuned.winner->config);
    CHECK(result.ours->timing.samples.size() >= 7);
    CHECK(result.ours->error < 1e-5);
    CHECK(result.limit_milliseconds > 0);
    CHECK(!result.peer);
    CHECK(result.peer_reason == "no peer here");
}

TEST_CASE("a winner that packs its weights is measured with and without the packing") {
    Emulation emulation;
    const test::PackingSources sources;
    emulation.database.record(emulation.emulated.device->info(), test::PackingSources::winner(test::bench_problem()),
                              "");
    for (const bool prepared : {false, true}) {
        const BenchResult result = emulation.measure(test::bench_problem(), Mode::fp32, prepared);
        INFO(result.ours_reason);
        REQUIRE(result.ours.has_value());
        CHECK(result.ours->rung == "exact");
        CHECK(result.ours->workspace_bytes == 20 + 2 * 4 + 4 * weight_elements(test::bench_problem()));
        CHECK(result.ours->timing.median > 0);
    }
}

TEST_CASE("a winner without packed weights is measured in the same way with prepared weights") {
    Emulation emulation;
    const BenchResult result = emulation.measure(test::bench_problem(), Mode::fp32, true);
    REQUIRE(result.ours.has_value());
    CHECK(result.ours->rung == "reference");
    CHECK(result.ours->timing.median > 0);
}

TEST_CASE("a problem without a winner is tuned first, where a family takes it") {
    Emulation emulation(2);
    const BenchResult result = emulation.measure(test::bench_problem());
    REQUIRE(result.ours.has_value());
    const auto winner = emulation.database.winner(test::bench_problem(), emulation.emulated.device->info(), 1e-4);
    REQUIRE(winner.has_value());
    CHECK(result.ours->description == winner->trial.template_name);
    CHECK(result.ours->rung == "exact");
}

TEST_CASE("a problem is tuned for each mode: a winner of another one is not enough") {
    Emulation emulation(2);
    const Problem problem = test::bench_problem();
    const DeviceInfo& device = emulation.emulated.device->info();
    (void)emulation.measure(problem, Mode::strict);
    const std::size_t strict_trials = emulation.database.trials(problem, device_key(device)).size();
    // The same family once more, under another name and as one of tensor cores.
    std::ifstream file(TCONV_DIRECT_SPACE);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    text.replace(text.find("family: direct"), 14, "family: tensor");
    emulation.spaces.push_back(SearchSpace::parse(text + "\nerror: 1e-5\nstrict: 0\n", "tensor.yaml"));
    const auto tried = [&] {
        const auto trials = emulation.database.trials(problem, device_key(device));
        return std::count_if(trials.begin(), trials.end(),
                             [](const Trial& trial) { return trial.template_name == "tensor"; });
    };
    CHECK(emulation.measure(problem, Mode::strict).ours->description != "tensor");
    CHECK(emulation.database.trials(problem, device_key(device)).size() == strict_trials);
    CHECK(tried() == 0);
    CHECK(emulation.measure(problem, Mode::fp32).ours.has_value());
    CHECK(tried() > 0);
    CHECK(emulation.measure(problem, Mode::strict).ours->description != "tensor");
}

TEST_CASE("without a winner and without tuning the reference kernel is measured, as a program would get it") {
    Emulation emulation;
    Problem problem = test::bench_problem();
    CHECK(emulation.measure(problem).ours->rung == "reference");
    problem.dtype = DataType::bf16;
    problem.layout = Layout::nhwc;
    const BenchResult result = emulation.measure(problem, Mode::bf16);
    REQUIRE(result.ours.has_value());
    CHECK(result.ours->description == "reference");
    CHECK(result.ours->error > 0);
}

TEST_CASE("a problem that the emulator cannot run has a reason instead of a time") {
    Emulation emulation;
    Problem problem = test::bench_problem();
    problem.in_channels = problem.out_channels = 4096;
    problem.input = {1, 1, 4096};
    const BenchResult result = emulation.measure(problem);
    CHECK(!result.ours);
    CHECK_THAT(result.ours_reason, contains("it needs a GPU"));
}
