#include "device/driver/driver.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/device/driver/require_gpu.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/tuner/planted.hpp"
#include "tuner/evaluate.hpp"
#include "tuner/local_evaluator.hpp"
#include "tuner/session.hpp"

using namespace tconv;
using test::Fault;

namespace {

OutcomeKind verdict(Device& device, Compiler& compiler, Fault fault) {
    const Problem problem = test::planted_problem();
    Builder builder(compiler, device.info());
    SupportKernels support(device, builder);
    Validator validator(device, support, problem, 3);
    CompileRequest request;
    request.name = "planted.cu";
    request.source = test::planted_source(fault);
    request.kernels = {"planted"};
    request.architecture = architecture_of(device.info());
    const CompileResult compiled = compiler.compile(request);
    INFO(compiled.log);
    REQUIRE(compiled.ok);
    const auto module = device.load(compiled.code);
    Outcome outcome;
    const LaunchPlan plan = test::planted_plan(problem);
    validator.validate(runnable_plan(device, *module, plan, problem.batch), 1e-4, outcome);
    return outcome.kind;
}

}  // namespace

TEST_CASE("on a GPU random problems are tuned, and every config tried is right") {
    require_gpu();
    const auto device = open_cuda_device(0);
    const auto compiler = make_nvrtc_compiler();
    const auto spaces = load_search_spaces();
    Laboratory laboratory(*device, *compiler);
    LocalEvaluator evaluator(laboratory);
    test::Draw draw(43);
    for (int round = 0; round < test::rounds(12); ++round) {
        TuneRequest request;
        request.problem = test::draw_problem(draw);
        request.trials = 12;
        request.time_limit_seconds = 60;
        INFO(key(request.problem));
        const TuneResult result = tune(request, {evaluator, nullptr, spaces, 0}, {}, {});
        REQUIRE(result.winner.has_value());
        CHECK(result.failures.empty());
        CHECK(result.winner->outcome.error.relative <= 1e-4);  // split bf16 may win
    }
}

TEST_CASE("on a GPU planted faults are refused") {
    require_gpu();
    const auto device = open_cuda_device(0);
    const auto compiler = make_nvrtc_compiler();
    CHECK(verdict(*device, *compiler, Fault::none) == OutcomeKind::valid);
    CHECK(verdict(*device, *compiler, Fault::weight_off_by_stride) == OutcomeKind::wrong_result);
    CHECK(verdict(*device, *compiler, Fault::mirrored_tap) == OutcomeKind::wrong_result);
    CHECK(verdict(*device, *compiler, Fault::lost_bias) == OutcomeKind::wrong_result);
    CHECK(verdict(*device, *compiler, Fault::unwritten_border) == OutcomeKind::not_finite);
    CHECK(verdict(*device, *compiler, Fault::not_a_number) == OutcomeKind::not_finite);
    CHECK(verdict(*device, *compiler, Fault::write_past_end) == OutcomeKind::out_of_bounds);
    CHECK(verdict(*device, *compiler, Fault::write_before_start) == OutcomeKind::out_of_bounds);
    const OutcomeKind read = verdict(*device, *compiler, Fault::read_past_end);
    CHECK((read == OutcomeKind::wrong_result || read == OutcomeKind::not_finite));
    const OutcomeKind race = verdict(*device, *compiler, Fault::race);
    CHECK((race == OutcomeKind::wrong_result || race == OutcomeKind::nondeterministic));
}
