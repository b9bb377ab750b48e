#include "samples.hpp"

#include <random>

#include "core/hash.hpp"
#include "tests/catch.hpp"

namespace tconv::test {

DeviceInfo sample_gpu() {
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.name = "Sample GPU";
    device.compute_major = 9;
    device.multiprocessors = 132;
    device.shared_memory_per_block = 232448;
    device.memory_bytes = std::int64_t{141} << 30;
    device.driver_version = "13.0";
    return device;
}

DeviceInfo sample_emulator() {
    DeviceInfo device;
    device.name = "emulator";
    return device;
}

Problem sample_problem(std::int64_t batch) {
    Problem problem;
    problem.spatial_axes = 3;
    problem.batch = batch;
    problem.in_channels = 6;
    problem.out_channels = 3;  // in a group one, so that both orders of the weights are the same
    problem.groups = 3;
    problem.input = {4, 5, 6};
    problem.kernel = {3, 2, 5};
    problem.stride = {2, 3, 4};
    problem.padding = {1, 0, 2};
    problem.output_padding = {1, 2, 3};
    problem.dilation = {2, 1, 3};
    problem.bias = true;
    problem.dtype = DataType::f16;
    problem.layout = Layout::nhwc;
    return problem;
}

LaunchPlan sample_plan() {
    LaunchPlan plan;
    plan.source_file = "direct.cu";
    plan.constants = {{"tile_count", 12}};
    Launch launch;
    launch.kernel = "run";
    launch.grid = {7, 2, 1};
    launch.block = {32, 4, 1};
    launch.batch_axis = 2;
    launch.shared_bytes = 4096;
    for (const ArgumentKind kind : {ArgumentKind::input, ArgumentKind::weight, ArgumentKind::bias, ArgumentKind::output,
                                    ArgumentKind::workspace, ArgumentKind::batch}) {
        launch.arguments.push_back({kind, 0, {}});
    }
    launch.arguments[4].offset = 64;
    plan.launches = {launch};
    plan.workspace_bytes = 1024;
    plan.workspace_bytes_per_batch = 16;
    return plan;
}

Trial sample_trial(const Problem& problem, int number, double median, double error) {
    Trial trial;
    trial.problem = problem;
    trial.problem_name = "sample";
    trial.template_name = "direct";
    trial.template_hash = content_hash("template");
    trial.config = {{"block_size", 128}, {"number", number}, {"negative", -5}};
    trial.outcome.reason = "";
    trial.outcome.error = {error, 2 * error, 17, "normal"};
    trial.outcome.timing = {
        {median, 1.1 * median, 0.9 * median}, median, 0.9 * median, 0.1, true, 1.5 * median, "timed in a storm"};
    trial.outcome.resources = {64, 1024, 8, 3};
    trial.outcome.compile_milliseconds = 812.25;
    trial.outcome.plan = sample_plan();
    trial.outcome.binary_key = content_hash("source " + std::to_string(number));
    trial.driver_version = "13.0";
    trial.compiler_version = "NVRTC 13.0";
    return trial;
}

std::string sample_binary(int number) {
    std::mt19937 random(static_cast<unsigned>(number));
    std::string binary(5000, '\0');
    for (std::size_t i = 0; i < binary.size(); i += 2)  // half of it is zero, so that it can be compressed
        binary[i] = static_cast<char>(random());
    return binary;
}

void check_same(const Trial& left, const Trial& right) {
    CHECK(left.problem == right.problem);
    CHECK(left.problem_name == right.problem_name);
    CHECK(left.template_name == right.template_name);
    CHECK(left.template_hash == right.template_hash);
    CHECK(left.config == right.config);
    CHECK(left.strict == right.strict);
    CHECK(left.reach == right.reach);
    CHECK(left.outcome.kind == right.outcome.kind);
    CHECK(left.outcome.reason == right.outcome.reason);
    CHECK(left.outcome.error.relative == right.outcome.error.relative);
    CHECK(left.outcome.error.absolute == right.outcome.error.absolute);
    CHECK(left.outcome.error.worst_index == right.outcome.error.worst_index);
    CHECK(left.outcome.error.distribution == right.outcome.error.distribution);
    CHECK(left.outcome.timing.samples == right.outcome.timing.samples);
    CHECK(left.outcome.timing.median == right.outcome.timing.median);
    CHECK(left.outcome.timing.minimum == right.outcome.timing.minimum);
    CHECK(left.outcome.timing.spread == right.outcome.timing.spread);
    CHECK(left.outcome.timing.dropped_early == right.outcome.timing.dropped_early);
    CHECK(left.outcome.timing.rank == right.outcome.timing.rank);
    CHECK(left.outcome.timing.remark == right.outcome.timing.remark);
    CHECK(left.outcome.resources.registers == right.outcome.resources.registers);
    CHECK(left.outcome.resources.static_shared_bytes == right.outcome.resources.static_shared_bytes);
    CHECK(left.outcome.resources.local_bytes == right.outcome.resources.local_bytes);
    CHECK(left.outcome.resources.blocks_per_multiprocessor == right.outcome.resources.blocks_per_multiprocessor);
    CHECK(left.outcome.compile_milliseconds == right.outcome.compile_milliseconds);
    CHECK(left.outcome.plan == right.outcome.plan);
    CHECK(left.outcome.binary_key == right.outcome.binary_key);
    CHECK(left.driver_version == right.driver_version);
    CHECK(left.compiler_version == right.compiler_version);
}

#define TCONV_WITHOUT_VERSION_4                                                                                  \
    "DROP INDEX trial_by_speed; DROP VIEW winner; ALTER TABLE trial DROP COLUMN strict; ALTER TABLE trial DROP " \
    "COLUMN reach; "                                                                                             \
    "CREATE INDEX trial_by_speed ON trial (problem, device, dropped_early, rank_ms, error_relative) "            \
    "WHERE outcome = 'valid' AND plan IS NOT NULL AND median_ms > 0; CREATE VIEW winner AS SELECT 1; "

const char* const k_without_version_4 = TCONV_WITHOUT_VERSION_4;
const char* const k_without_version_3 = TCONV_WITHOUT_VERSION_4
    "DROP INDEX trial_by_failure; DROP INDEX trial_by_binary; DROP INDEX trial_by_speed; DROP VIEW winner; "
    "ALTER TABLE trial DROP COLUMN digest; ALTER TABLE trial DROP COLUMN rank_ms; ALTER TABLE trial DROP COLUMN "
    "remark; "
    "CREATE INDEX trial_by_speed ON trial (problem, device, dropped_early, median_ms, error_relative) "
    "WHERE outcome = 'valid' AND plan IS NOT NULL AND median_ms > 0; CREATE VIEW winner AS SELECT 1; ";

}  // namespace tconv::test
