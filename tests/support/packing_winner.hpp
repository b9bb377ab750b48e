#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include "cache/database.hpp"
#include "kernel_sources/reference.hpp"
#include "kernel_sources/sources.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tconv::test {

/// Kernel sources for the life of the object: those of this build, but for direct.cu, which packs its weights.
class PackingSources {
public:
    PackingSources() {
        for (const std::string& name : kernel_source_names())
            std::ofstream(folder_ / name) << kernel_source(name);
        std::ofstream(folder_ / "direct.cu") << R"cuda(#include "reference.cu"
extern "C" __global__ void test_pack(const float* weight, float* packed, long long count) {
    for (long long i = threadIdx.x; i < count; i += blockDim.x) packed[i] = weight[i];
}
)cuda";
        setenv("TCONV_KERNEL_SOURCES", folder_.path().c_str(), 1);
    }
    PackingSources(const PackingSources&) = delete;
    PackingSources& operator=(const PackingSources&) = delete;
    ~PackingSources() { unsetenv("TCONV_KERNEL_SOURCES"); }

    /// As a tuner would store it: the reference kernel behind a launch that copies the weights, with a workspace of 20
    /// bytes and 4 a batch entry that nobody needs.
    [[nodiscard]] static Trial winner(const Problem& problem) {
        Launch pack;
        pack.kernel = "test_pack";
        pack.block = {32, 1, 1};
        pack.batch_axis = -1;
        pack.weights_only = true;
        pack.arguments = {{ArgumentKind::weight, 0, {}},
                          {ArgumentKind::packed_weight, 0, {}},
                          {ArgumentKind::values, 0, {weight_elements(problem)}}};
        Trial trial;
        trial.problem = problem;
        trial.template_name = "direct";
        trial.template_hash = template_hash("direct.cu");
        trial.config = {{"tile", 4}};
        trial.outcome.kind = OutcomeKind::valid;
        trial.outcome.error.relative = 1e-6;
        trial.outcome.timing.samples = {1.5, 1.5};
        trial.outcome.timing.median = 1.5;
        trial.outcome.timing.minimum = 1.5;
        LaunchPlan& plan = trial.outcome.plan;
        plan = reference_plan(problem);
        plan.source_file = "direct.cu";
        plan.launches[0].arguments[1].kind = ArgumentKind::packed_weight;
        plan.launches.insert(plan.launches.begin(), pack);
        plan.packed_weight_bytes = 4 * weight_elements(problem);
        plan.workspace_bytes = 20;
        plan.workspace_bytes_per_batch = 4;
        return trial;
    }

private:
    ScratchFolder folder_;
};

}  // namespace tconv::test
