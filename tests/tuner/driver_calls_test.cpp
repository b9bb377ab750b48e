// What evaluating candidates costs in calls of the driver: a fake one counts them.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "device/driver/driver.hpp"
#include "kernel_sources/reference.hpp"
#include "tests/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/tuner/planted.hpp"
#include "tuner/local_evaluator.hpp"

using namespace tconv;

namespace {

/// Code that the fake driver takes.
class FakeCompiler final : public Compiler {
public:
    [[nodiscard]] std::string version() const override { return "fake 1"; }
    [[nodiscard]] CompileResult compile(const CompileRequest&) override {
        CompileResult result;
        result.ok = true;
        result.code.code = ".version 7.0\n.target sm_80\n.address_size 64\n";
        return result;
    }
};

int count_calls(const std::string& call) {
    void* const handle = dlopen(TCONV_FAKE_DRIVER, RTLD_NOW);
    auto* const log = reinterpret_cast<const char* (*)()>(dlsym(handle, "fake_driver_log"));
    const std::string calls = log();
    int count = 0;
    for (std::size_t at = calls.find(call + "\n"); at != std::string::npos; at = calls.find(call + "\n", at + 1))
        ++count;
    return count;
}

}  // namespace

TEST_CASE("candidates after the first take no memory from the driver, and the host waits a few times for each launch") {
    const test::ScratchFolder folder;
    setenv("TCONV_CACHE", folder.path().c_str(), 1);
    setenv("TCONV_CUDA_DRIVER", TCONV_FAKE_DRIVER, 1);
    const std::unique_ptr<Device> device = open_cuda_device(0);
    FakeCompiler compiler;
    Laboratory laboratory(*device, compiler);
    LocalEvaluator evaluator(laboratory);
    const Problem problem = test::planted_problem();
    (void)evaluator.prepare(problem, 1);
    Compiled compiled;
    compiled.candidate.problem = problem;
    compiled.candidate.plan = reference_plan(problem);
    compiled.code = compiler.compile({}).code;
    const auto measure = [&](std::int64_t workspace_bytes) {
        compiled.candidate.plan.workspace_bytes = workspace_bytes;
        const Measurement measurement = evaluator.measure(compiled);
        CHECK(measurement.outcome.kind == OutcomeKind::valid);
        CHECK(measurement.seconds.validating > 0);
        CHECK(measurement.seconds.timing > 0);
    };
    measure(1 << 20);
    const int allocations = count_calls("cuMemAlloc");
    const int freed = count_calls("cuMemFree");
    const int waits = count_calls("cuMemcpyDtoH");
    const int launches = count_calls("cuEventSynchronize");
    const double at_work = evaluator.device_seconds();
    measure(1 << 20);
    measure((1 << 20) - 4096);
    CHECK(count_calls("cuMemAlloc") == allocations);
    CHECK(count_calls("cuMemFree") == freed);
    // Five launches of a candidate are checked: the memory after each, and the outputs, in the second one of two parts.
    CHECK(count_calls("cuMemcpyDtoH") - waits == 2 * (5 + 6));
    CHECK(count_calls("cuEventSynchronize") > launches);
    CHECK(evaluator.device_seconds() > at_work);
}
