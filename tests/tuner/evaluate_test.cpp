#include "tuner/evaluate.hpp"

#include <cstdlib>
#include <fstream>

#include "kernel_sources/sources.hpp"
#include "tests/catch.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/tuner/planted.hpp"
#include "tuner/local_evaluator.hpp"

using namespace tconv;
using test::Fault;

namespace {

/// The embedded kernel sources and planted.cu in a folder of their own.
class PlantedSources {
public:
    explicit PlantedSources(Fault fault) {
        for (const std::string& file : kernel_source_names())
            write(file, kernel_source(file));
        write("planted.cu", test::planted_source(fault));
        setenv("TCONV_KERNEL_SOURCES", folder_.path().c_str(), 1);
    }
    PlantedSources(const PlantedSources&) = delete;
    PlantedSources& operator=(const PlantedSources&) = delete;
    ~PlantedSources() { unsetenv("TCONV_KERNEL_SOURCES"); }

private:
    void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
    test::ScratchFolder folder_;
};

Outcome outcome_of(Fault fault) {
    const PlantedSources sources(fault);
    auto& emulated = test::emulated();
    const Problem problem = test::planted_problem();
    Laboratory laboratory(*emulated.device, *emulated.compiler);
    LocalEvaluator evaluator(laboratory);
    (void)evaluator.prepare(problem, 5);
    const Candidate candidate{problem, "planted", {}, test::planted_plan(problem, fault), 1e-4, 0};
    return evaluate(candidate, evaluator).outcome;
}

}  // namespace

TEST_CASE("a good candidate is valid and timed") {
    const Outcome outcome = outcome_of(Fault::none);
    INFO(outcome.reason);
    CHECK(outcome.kind == OutcomeKind::valid);
    CHECK(outcome.timing.samples.size() > 1);
    CHECK(outcome.timing.median > 0);
}

TEST_CASE("every failure is an outcome with a reason, and is never timed") {
    const std::pair<Fault, OutcomeKind> cases[]{{Fault::does_not_compile, OutcomeKind::compile_error},
                                                {Fault::too_much_shared_memory, OutcomeKind::resource_error},
                                                {Fault::deadlock, OutcomeKind::launch_error},
                                                {Fault::mirrored_tap, OutcomeKind::wrong_result},
                                                {Fault::unwritten_border, OutcomeKind::not_finite}};
    for (const auto& [fault, kind] : cases) {
        const Outcome outcome = outcome_of(fault);
        INFO(to_string(kind) << ": " << outcome.reason);
        CHECK(outcome.kind == kind);
        CHECK(!outcome.reason.empty());
        CHECK(outcome.timing.samples.empty());
    }
}
