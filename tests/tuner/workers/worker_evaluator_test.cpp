#include "tuner/workers/worker_evaluator.hpp"

#include <signal.h>

#include <fstream>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/tuner/planted.hpp"
#include "tuner/evaluate.hpp"
#include "tuner/local_evaluator.hpp"
#include "tuner/search_space.hpp"
#include "tuner/session.hpp"

using namespace tconv;
using test::Fault;

namespace {

const WorkerCommands k_commands{{TCONV_COMMAND, "worker", "--device", "emulator"},
                                {TCONV_COMMAND, "worker", "--compiler", "host"}};

/// Starts workers for as long as a file is there.
class Gate {
public:
    Gate() { open(); }
    void open() const { std::ofstream(file_) << "open\n"; }
    void close() const { std::filesystem::remove(file_); }
    [[nodiscard]] WorkerCommands commands() const {
        return {{"/bin/sh", "-c",
                 "test -e " + file_ + " || { echo the gate is closed >&2; exit 1; }; exec " + TCONV_COMMAND +
                     " worker --device emulator"},
                k_commands.compile};
    }

private:
    test::ScratchFolder folder_;
    std::string file_ = folder_.file("gate");
};

constexpr const char* k_library = R"(
extern "C" void abort();
extern "C" void* malloc(unsigned long);
extern "C" void* memset(void*, int, unsigned long);
extern "C" char* getenv(const char*);
extern "C" int setenv(const char*, const char*, int);
static void* volatile kept;
)";

/// The planted kernel with `statements` at the start of each thread, and its code.
Compiled planted(Fault fault, const std::string& statements = "") {
    std::string source = k_library + test::planted_source(fault);
    const std::string place = "float sum = 0;";
    source.insert(source.find(place), statements);
    CompileRequest request{"planted.cu", source, {"planted"}, "", {}};
    CompileResult result = test::emulated().compiler->compile(request);
    if (!result.ok) throw Error(ErrorKind::compile, result.log);
    const Problem problem = test::planted_problem();
    return {{problem, "planted", {}, test::planted_plan(problem, fault), 1e-4, 0}, std::move(result.code)};
}

void check_same_errors(const ErrorMeasure& a, const ErrorMeasure& b) {
    CHECK(a.relative == b.relative);
    CHECK(a.absolute == b.absolute);
    CHECK(a.worst_index == b.worst_index);
    CHECK(a.distribution == b.distribution);
    CHECK(a.repeat_spread == b.repeat_spread);
}

/// A small problem of the direct family.
Problem draw_small(test::Draw& draw, const SearchSpace& space, const DeviceInfo& device) {
    for (;;) {
        const Problem problem = test::draw_problem(draw);
        if (flops(problem) < 1e6 && space.refusal(problem, device).empty()) return problem;
    }
}

}  // namespace

TEST_CASE("a worker measures random candidates as this process does") {
    Laboratory laboratory(*test::emulated().device, *test::emulated().compiler);
    LocalEvaluator here(laboratory);
    WorkerEvaluator there(k_commands, {});
    CHECK(device_key(there.device()) == device_key(here.device()));
    CHECK(there.builder().compiler_version() == here.builder().compiler_version());
    const std::vector<SearchSpace> spaces = load_search_spaces();
    const auto direct = std::find_if(spaces.begin(), spaces.end(), [](const auto& s) { return s.name() == "direct"; });
    REQUIRE(direct != spaces.end());
    for (int seed = 0; seed < test::rounds(3); ++seed) {
        test::Draw draw(static_cast<std::uint64_t>(seed));
        const Problem problem = draw_small(draw, *direct, here.device());
        (void)here.prepare(problem, 7);
        CHECK(there.prepare(problem, 7).reference_milliseconds > 0);
        for (const double tolerance : {1e-4, 0.0}) {
            const auto below = [&](std::uint64_t n) {
                return static_cast<std::uint64_t>(draw.between(0, static_cast<std::int64_t>(n) - 1));
            };
            const auto config = direct->draw(problem, here.device(), below, [](const Config&) { return true; });
            REQUIRE(config.has_value());
            const Candidate candidate{problem,   "direct", *config, direct->plan(problem, here.device(), *config),
                                      tolerance, 0};
            const Outcome near = evaluate(candidate, here).outcome;
            const Outcome far = evaluate(candidate, there).outcome;
            INFO("seed " << seed << ": " << to_string(near.kind) << " " << near.reason << " | " << far.reason);
            CHECK(far.kind == near.kind);
            CHECK(far.reason == near.reason);
            check_same_errors(far.error, near.error);
            CHECK(far.plan == near.plan);
            CHECK(far.timing.samples.empty() == near.timing.samples.empty());
        }
    }
}

TEST_CASE("planted faults are found in a worker with the same words") {
    Laboratory laboratory(*test::emulated().device, *test::emulated().compiler);
    LocalEvaluator here(laboratory);
    WorkerEvaluator there(k_commands, {});
    (void)here.prepare(test::planted_problem(), 5);
    (void)there.prepare(test::planted_problem(), 5);
    for (const Fault fault : {Fault::none, Fault::mirrored_tap, Fault::unwritten_border, Fault::write_past_end,
                              Fault::wrong_for_large, Fault::write_input}) {
        const Compiled compiled = planted(fault);
        const Measurement near = here.measure(compiled);
        const Measurement far = there.measure(compiled);
        INFO(to_string(near.outcome.kind) << ": " << near.outcome.reason);
        CHECK(far.outcome.kind == near.outcome.kind);
        CHECK(far.outcome.reason == near.outcome.reason);
        check_same_errors(far.outcome.error, near.outcome.error);
    }
    // Which block is told first is chance.
    const Measurement deadlock = there.measure(planted(Fault::deadlock));
    CHECK(deadlock.outcome.kind == OutcomeKind::launch_error);
    CHECK_THAT(deadlock.outcome.reason, contains("deadlock in block"));
    CHECK(!deadlock.device_lost);
}

TEST_CASE("a candidate that ends its worker costs itself alone, and the next one meets the same inputs") {
    WorkerLimits limits;
    limits.run_seconds = 1;
    WorkerEvaluator evaluator(k_commands, limits);
    (void)evaluator.prepare(test::planted_problem(), 5);
    const Compiled good = planted(Fault::none);
    const Measurement before = evaluator.measure(good);
    REQUIRE(before.outcome.kind == OutcomeKind::valid);
    const pid_t first = evaluator.process_id();

    const Measurement crash = evaluator.measure(planted(Fault::none, "if (blockIdx.x == 0) abort();"));
    CHECK(crash.outcome.kind == OutcomeKind::crashed);
    CHECK_THAT(crash.outcome.reason, contains("at a run its process was ended by signal 6"));
    CHECK(!crash.device_lost);
    const Measurement after_crash = evaluator.measure(good);
    CHECK(after_crash.outcome.kind == OutcomeKind::valid);
    check_same_errors(after_crash.outcome.error, before.outcome.error);
    CHECK(evaluator.process_id() != first);

    const Measurement hang = evaluator.measure(planted(Fault::none, "for (volatile int i = 0; i < 1; ) { }"));
    CHECK(hang.outcome.kind == OutcomeKind::timeout);
    CHECK_THAT(hang.outcome.reason, contains("a run took longer than 1 s"));
    const Measurement after_hang = evaluator.measure(good);
    CHECK(after_hang.outcome.kind == OutcomeKind::valid);
    check_same_errors(after_hang.outcome.error, before.outcome.error);
    CHECK(evaluator.measure(good).outcome.kind == OutcomeKind::valid);
}

TEST_CASE("finalists are timed in turn in a worker; where one ends it there is no timing, and the next is measured") {
    WorkerEvaluator evaluator(k_commands, {});
    (void)evaluator.prepare(test::planted_problem(), 5);
    const Compiled good = planted(Fault::none);
    const std::vector<Timing> timings = evaluator.time_in_turn({good, good}, 3, 1);
    REQUIRE(timings.size() == 2);
    CHECK(timings.front().samples.size() == 3);
    CHECK(evaluator.time_in_turn({good, planted(Fault::none, "abort();")}, 3, 1).empty());
    CHECK(evaluator.time_in_turn({good, planted(Fault::deadlock)}, 3, 1).empty());
    CHECK(evaluator.measure(good).outcome.kind == OutcomeKind::valid);
}

TEST_CASE("a worker whose memory has grown is replaced between two candidates") {
    WorkerLimits limits;
    limits.memory_bytes = std::int64_t{1} << 30;
    WorkerEvaluator evaluator(k_commands, limits);
    (void)evaluator.prepare(test::planted_problem(), 5);
    // Once a process: each thread that runs blocks has variables of its own.
    const Compiled leak = planted(Fault::none,
                                  "if (index == 0 && !getenv(\"LEAKED\")) { setenv(\"LEAKED\", \"1\", 1); "
                                  "kept = memset(malloc(600ul << 20), 1, 600ul << 20); } ");
    const Measurement leaked = evaluator.measure(leak);
    INFO(leaked.outcome.reason);
    CHECK(leaked.outcome.kind == OutcomeKind::valid);
    CHECK(evaluator.process_id() == -1);
    const Measurement next = evaluator.measure(planted(Fault::none));
    CHECK(next.outcome.kind == OutcomeKind::valid);
    CHECK(evaluator.process_id() != -1);
    check_same_errors(next.outcome.error, leaked.outcome.error);
}

TEST_CASE("where no worker starts any more measuring is an error, and goes on when one does") {
    const Gate gate;
    WorkerEvaluator evaluator(gate.commands(), {});
    (void)evaluator.prepare(test::planted_problem(), 5);
    gate.close();
    CHECK(evaluator.measure(planted(Fault::none, "abort();")).outcome.kind == OutcomeKind::crashed);
    try {
        (void)evaluator.measure(planted(Fault::none));
        FAIL("there was a worker");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unavailable);
        CHECK_THAT(error.what(), contains("the gate is closed"));
    }
    gate.open();
    CHECK(evaluator.measure(planted(Fault::none)).outcome.kind == OutcomeKind::valid);
}

TEST_CASE("a session whose workers stop starting ends with the winner so far and a warning") {
    const Gate gate;
    WorkerEvaluator evaluator(gate.commands(), {});
    const std::vector<SearchSpace> spaces = load_search_spaces();
    TuneRequest request;
    request.problem = test::planted_problem();
    request.trials = 50;
    request.time_limit_seconds = 250;
    const auto progress = [&](const TuneProgress& at) {
        if (at.stage != "search" || !at.best_milliseconds || at.trials_done < 2) return;
        gate.close();
        if (const pid_t id = evaluator.process_id(); id > 0) ::kill(id, SIGKILL);
    };
    const TuneResult result = tune(request, {evaluator, nullptr, spaces, 2}, progress, {});
    CHECK(result.winner.has_value());
    CHECK(result.trials_measured < 50);
    CHECK(!result.interrupted);
    REQUIRE(!result.warnings.empty());
    CHECK_THAT(result.warnings.front(), contains("the search ended early: no worker can be started any more"));
}
