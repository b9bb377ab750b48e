#include "tuner/validator.hpp"

#include <functional>
#include <utility>
#include <vector>

#include "kernel_sources/reference.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/tuner/planted.hpp"
#include "tuner/evaluate.hpp"

using namespace tconv;
using test::Fault;

namespace {

constexpr double k_never_slow = 0;
constexpr double k_always_slow = 1e-12;
constexpr double k_tolerance = 1e-4;

/// A validator of the planted problem, and kernels for it.
struct Trials {
    test::Emulated& emulated = test::emulated();
    Problem problem;
    Builder builder{*emulated.compiler, emulated.device->info()};
    SupportKernels support{*emulated.device, builder};
    Validator validator;

    explicit Trials(const Problem& p = test::planted_problem())
        : problem(p), validator(*emulated.device, support, problem, 3) {}

    /// `change` may alter what is validated.
    Outcome verdict(Fault fault, double slow_milliseconds = k_never_slow,
                    const std::function<void(Runnable&)>& change = {}) {
        const auto module = emulated.build(test::planted_source(fault), {"planted"});
        const test::OnDevice counter(*emulated.device, std::vector<int>{0});
        const LaunchPlan plan = test::planted_plan(problem, fault, counter.address());
        Runnable runnable = runnable_plan(*emulated.device, *module, plan, problem.batch);
        if (change) change(runnable);
        Outcome outcome;
        validator.validate(runnable, k_tolerance, outcome, slow_milliseconds);
        return outcome;
    }
};

Outcome verdict(Fault fault, double slow_milliseconds = k_never_slow,
                const std::function<void(Runnable&)>& change = {}) {
    return Trials().verdict(fault, slow_milliseconds, change);
}

/// The reason of a verdict of this kind; its own words where it is another kind.
std::string reason(Fault fault, OutcomeKind kind) {
    const Outcome outcome = verdict(fault);
    INFO(outcome.reason);
    CHECK(to_string(outcome.kind) == to_string(kind));
    return outcome.reason;
}

/// Notes the tensors of every launch.
void record(Runnable& runnable, std::vector<CallTensors>& calls) {
    const auto recorded = [&calls](std::function<void(const CallTensors&)> launch) {
        return [&calls, launch = std::move(launch)](const CallTensors& tensors) {
            calls.push_back(tensors);
            launch(tensors);
        };
    };
    runnable.launch = recorded(runnable.launch);
    if (runnable.other_batch) runnable.other_batch->launch = recorded(runnable.other_batch->launch);
}

bool aligned_to_no_more_than(DevicePointer address, std::uint64_t alignment) {
    return address % (2 * alignment) == alignment;
}

}  // namespace

TEST_CASE("a right kernel is valid with the error of fp32") {
    const Outcome outcome = verdict(Fault::none);
    INFO(outcome.reason);
    CHECK(outcome.kind == OutcomeKind::valid);
    CHECK(outcome.reason.empty());
    CHECK(outcome.error.relative > 0);
    CHECK(outcome.error.relative < 1e-6);
    CHECK(outcome.error.absolute > 0);
    CHECK(outcome.error.repeat_spread == 0);
}

TEST_CASE("fp32 sums of many products stay far below the tolerance, with cancellation too") {
    Problem p = test::planted_problem();
    p.in_channels = 64;
    p.kernel = {1, 1, 8};
    const Outcome outcome = Trials(p).verdict(Fault::none);
    INFO(outcome.reason << ", worst with " << outcome.error.distribution);
    CHECK(outcome.kind == OutcomeKind::valid);
    CHECK(outcome.error.relative < 1e-5);
}

TEST_CASE("the reference kernels are valid in every type and layout") {
    auto& emulated = test::emulated();
    Builder builder(*emulated.compiler, emulated.device->info());
    SupportKernels support(*emulated.device, builder);
    test::Draw draw(71);
    for (int round = 0; round < test::rounds(30); ++round) {
        Problem p = test::draw_problem(draw);
        p.dtype = std::array{DataType::f32, DataType::f16, DataType::bf16}[static_cast<std::size_t>(round % 3)];
        p.layout = round % 2 == 0 ? Layout::nchw : Layout::nhwc;
        INFO(key(p));
        Validator validator(*emulated.device, support, p, 17);
        const LaunchPlan plan = reference_plan(p);
        Outcome outcome;
        validator.validate(runnable_plan(*emulated.device, support.reference_module(), plan, p.batch),
                           default_tolerance(p.dtype), outcome);
        INFO(outcome.reason);
        CHECK(outcome.kind == OutcomeKind::valid);
        // One rounding: half the distance of two neighbours.
        CHECK(outcome.error.relative <= (p.dtype == DataType::f32   ? 0x1p-24
                                         : p.dtype == DataType::f16 ? 0x1p-11
                                                                    : 0x1p-8));
    }
}

TEST_CASE("the steps of f16 below its normal numbers are no error of a kernel") {
    auto& emulated = test::emulated();
    Builder builder(*emulated.compiler, emulated.device->info());
    SupportKernels support(*emulated.device, builder);
    // Single products: some of them are tiny.
    Problem p;
    p.in_channels = p.out_channels = p.groups = 16;
    p.input = {1, 64, 64};
    p.dtype = DataType::f16;
    Validator validator(*emulated.device, support, p, 17);
    const LaunchPlan plan = reference_plan(p);
    Outcome outcome;
    validator.validate(runnable_plan(*emulated.device, support.reference_module(), plan, p.batch),
                       default_tolerance(p.dtype), outcome);
    INFO(outcome.reason);
    CHECK(outcome.kind == OutcomeKind::valid);
}

TEST_CASE("validation is five launches, one of them on barely aligned tensors") {
    std::vector<CallTensors> calls;
    const Outcome outcome = verdict(Fault::none, k_never_slow, [&](Runnable& runnable) {
        runnable.alignment = 32;
        record(runnable, calls);
    });
    CHECK(outcome.kind == OutcomeKind::valid);
    REQUIRE(calls.size() == 5);
    for (const DevicePointer address : {calls[1].input, calls[1].weight, calls[1].bias, calls[1].output})
        CHECK(aligned_to_no_more_than(address, 32));
    CHECK(calls[1].workspace % 16 == 0);
    for (const std::size_t ordinary : {0, 2, 3, 4}) {
        for (const DevicePointer address : {calls[ordinary].input, calls[ordinary].output, calls[ordinary].workspace})
            CHECK(address % 256 == 0);
    }
    // Four distributions, and the second launch has tensors of its own.
    for (std::size_t i = 0; i < calls.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j)
            CHECK(calls[i].input != calls[j].input);
    }
}

TEST_CASE("a right kernel that takes too long costs one look and is told apart from a valid one") {
    std::vector<CallTensors> calls;
    const Outcome outcome = verdict(Fault::none, k_always_slow, [&](Runnable& runnable) { record(runnable, calls); });
    CHECK(calls.size() == 2);
    CHECK(outcome.kind == OutcomeKind::too_slow);
    CHECK(outcome.timing.samples.size() == 1);
    CHECK(outcome.timing.median > 0);
    CHECK(outcome.timing.dropped_early);
    CHECK(!outcome.reason.empty());
    CHECK(outcome.error.relative < 1e-6);
}

TEST_CASE("a slow kernel that is wrong is wrong, not slow") {
    CHECK(verdict(Fault::mirrored_tap, k_always_slow).kind == OutcomeKind::wrong_result);
    CHECK(verdict(Fault::unwritten_border, k_always_slow).kind == OutcomeKind::not_finite);
    CHECK(verdict(Fault::right_once, k_always_slow).kind == OutcomeKind::wrong_result);
}

TEST_CASE("a kernel that need not be deterministic is told how far its runs differ") {
    CHECK_THAT(reason(Fault::differs_by_run, OutcomeKind::nondeterministic), contains("two runs on the same normal"));
    const Outcome outcome = verdict(Fault::differs_by_run, k_never_slow, [](Runnable& runnable) {
        runnable.deterministic = false;
        runnable.exact_on_integers = false;
    });
    INFO(outcome.reason);
    CHECK(outcome.kind == OutcomeKind::valid);
    CHECK(outcome.error.repeat_spread > 1e-8);
    CHECK(outcome.error.repeat_spread < 2e-6);
}

TEST_CASE("a second run that is wrong is wrong where runs may differ") {
    const Outcome outcome = verdict(Fault::right_once, k_never_slow, [](Runnable& runnable) {
        runnable.deterministic = false;
        runnable.other_batch.reset();
    });
    CHECK(outcome.kind == OutcomeKind::wrong_result);
    CHECK_THAT(outcome.reason, contains("normal inputs (batch 2, tensors aligned to 4 bytes)"));
}

TEST_CASE("wrong results are refused") {
    CHECK_THAT(reason(Fault::weight_off_by_stride, OutcomeKind::wrong_result), contains("normal inputs"));
    CHECK_THAT(reason(Fault::mirrored_tap, OutcomeKind::wrong_result), contains("error"));
    CHECK_THAT(reason(Fault::lost_bias, OutcomeKind::wrong_result), contains("above the tolerance"));
}

TEST_CASE("an unwritten border is refused and located") {
    const std::string why = reason(Fault::unwritten_border, OutcomeKind::not_finite);
    // 2 x 5 rows of (7-1)*2 - 2 + 3 + 1 = 14 outputs, the last column of each.
    CHECK_THAT(why, contains("10 of 140 outputs") && contains("batch 0 channel 0 position 13"));
}

TEST_CASE("outputs left from an earlier run do not count") {
    Trials trials;
    REQUIRE(trials.verdict(Fault::none).kind == OutcomeKind::valid);
    const Outcome outcome = trials.verdict(Fault::unwritten_places);
    CHECK(outcome.kind == OutcomeKind::not_finite);
    CHECK_THAT(outcome.reason, contains("46 of 140 outputs") && contains("position 2"));
}

TEST_CASE("what an earlier run left in the workspace does not count") {
    Trials trials;
    const auto leave_zeros = [&](Runnable& runnable) {
        runnable.launch = [&device = *trials.emulated.device, launch = runnable.launch](const CallTensors& tensors) {
            launch(tensors);
            device.fill(tensors.workspace, 0, 64);
        };
    };
    REQUIRE(trials.verdict(Fault::none, k_never_slow, leave_zeros).kind == OutcomeKind::valid);
    const Outcome outcome = trials.verdict(Fault::stale_workspace);
    CHECK(to_string(outcome.kind) == to_string(OutcomeKind::not_finite));
    CHECK_THAT(outcome.reason, contains("140 of 140"));
}

TEST_CASE("a kernel that is right for some inputs only is refused") {
    CHECK_THAT(reason(Fault::wrong_for_negative, OutcomeKind::wrong_result), contains("normal inputs"));
    CHECK_THAT(reason(Fault::wrong_for_large, OutcomeKind::wrong_result), contains("wide inputs"));
    CHECK_THAT(reason(Fault::wrong_for_positive, OutcomeKind::wrong_result), contains("uniform inputs"));
}

TEST_CASE("a kernel that loses low bits is not exact on integers, where that is asked for") {
    CHECK_THAT(reason(Fault::inexact, OutcomeKind::wrong_result), contains("are not exact") && contains("integers"));
    const Outcome outcome =
        verdict(Fault::inexact, k_never_slow, [](Runnable& runnable) { runnable.exact_on_integers = false; });
    CHECK(outcome.kind == OutcomeKind::valid);
}

TEST_CASE("a kernel that is right in its first run alone is refused") {
    CHECK_THAT(reason(Fault::right_once, OutcomeKind::nondeterministic), contains("two runs"));
}

TEST_CASE("a kernel for one batch alone is refused, unless no other is asked of it") {
    CHECK_THAT(reason(Fault::hard_coded_batch, OutcomeKind::not_finite),
               contains("70 of 70 outputs") && contains("batch 2 channel 0 position 0") && contains("(batch 3"));
    CHECK_THAT(reason(Fault::wrong_for_other_batch, OutcomeKind::wrong_result),
               contains("with batch 3 the same normal inputs give other results than with batch 2"));
    const auto fix_batch = [](Runnable& runnable) { runnable.other_batch.reset(); };
    CHECK(verdict(Fault::hard_coded_batch, k_never_slow, fix_batch).kind == OutcomeKind::valid);
    CHECK(verdict(Fault::wrong_for_other_batch, k_never_slow, fix_batch).kind == OutcomeKind::valid);
}

TEST_CASE("the other batch may be smaller, and one entry is compared with two") {
    auto& emulated = test::emulated();
    const Problem p = test::planted_problem();
    const auto module = emulated.build(test::planted_source(Fault::none), {"planted"});
    const LaunchPlan plan = test::planted_plan(p);
    const auto smaller = [&](Runnable& runnable) {
        runnable.other_batch = runnable_plan(*emulated.device, *module, plan, 2).other_batch;
        runnable.other_batch->batch = 1;
        runnable.other_batch->launch = runnable_plan(*emulated.device, *module, plan, 1).launch;
    };
    CHECK(verdict(Fault::none, k_never_slow, smaller).kind == OutcomeKind::valid);
    Problem single = p;
    single.batch = 1;
    const Outcome outcome = Trials(single).verdict(Fault::wrong_for_other_batch);
    // With one entry it is always off, with two it is right.
    CHECK_THAT(outcome.reason, contains("with batch 2") && contains("than with batch 1"));
}

TEST_CASE("a plan is tried with one entry more, or less where its grid ends there") {
    auto& emulated = test::emulated();
    const auto module = emulated.build(test::planted_source(Fault::none), {"planted"});
    LaunchPlan plan = test::planted_plan(test::planted_problem());
    plan.workspace_bytes_per_batch = 8;
    const auto other = [&](std::int64_t batch) {
        return runnable_plan(*emulated.device, *module, plan, batch).other_batch;
    };
    CHECK(other(1)->batch == 2);
    CHECK(other(7)->batch == 8);
    CHECK(other(7)->workspace_bytes == 64 + 8 * 8);
    plan.launches[0].batch_axis = 1;
    CHECK(other(65534)->batch == 65535);
    CHECK(other(65535)->batch == 65534);
    plan.launches[0].grid[1] = 65535;
    CHECK_FALSE(other(1).has_value());
}

TEST_CASE("a block may cover several batch entries, the last block fewer") {
    Trials trials;
    const auto module = trials.emulated.build(test::planted_source(Fault::none), {"planted"});
    LaunchPlan plan = test::planted_plan(trials.problem);
    const auto outcome_of = [&](std::int64_t tile, std::int64_t blocks) {
        plan.launches[0].batch_tile = tile;
        plan.launches[0].grid[0] = blocks;
        Outcome outcome;
        trials.validator.validate(runnable_plan(*trials.emulated.device, *module, plan, trials.problem.batch),
                                  k_tolerance, outcome, k_never_slow);
        return outcome.kind;
    };
    // An entry has 5 channels of 14 outputs, a block 64 threads.
    CHECK(outcome_of(1, 2) == OutcomeKind::valid);
    CHECK(outcome_of(2, 3) == OutcomeKind::valid);
    CHECK(outcome_of(3, 4) == OutcomeKind::valid);
    CHECK(outcome_of(3, 3) == OutcomeKind::not_finite);  // three entries need more than 192 threads
}

namespace {

/// The planted kernel reading packed weights; `pack` is the body of the loop over i that makes them of w.
Outcome verdict_of_packing(const std::string& pack, std::int64_t spare_bytes = 0,
                           const std::function<void(Runnable&)>& change = {}) {
    Trials trials;
    const std::string source = test::planted_source(Fault::none) + R"cuda(
extern "C" __global__ void planted_pack(const float* w, float* packed, long long count) {
    for (long long i = threadIdx.x; i < count; i += blockDim.x) )cuda" +
                               pack + ";\n}\n";
    const auto module = trials.emulated.build(source, {"planted", "planted_pack"});
    LaunchPlan plan = test::planted_plan(trials.problem);
    Launch packing;
    packing.kernel = "planted_pack";
    packing.block = {32, 1, 1};
    packing.batch_axis = -1;
    packing.weights_only = true;
    packing.arguments = {{ArgumentKind::weight, 0, {}},
                         {ArgumentKind::packed_weight, 0, {}},
                         {ArgumentKind::values, 0, {weight_elements(trials.problem)}}};
    plan.launches[0].arguments[1].kind = ArgumentKind::packed_weight;
    plan.launches.insert(plan.launches.begin(), packing);
    plan.packed_weight_bytes = 4 * weight_elements(trials.problem) + spare_bytes;
    check_plan(plan, trials.problem, trials.emulated.device->info());
    Runnable runnable = runnable_plan(*trials.emulated.device, *module, plan, trials.problem.batch);
    if (change) change(runnable);
    Outcome outcome;
    trials.validator.validate(runnable, k_tolerance, outcome, k_never_slow);
    return outcome;
}

}  // namespace

TEST_CASE("weights that are packed once serve several calls") {
    const Outcome outcome = verdict_of_packing("packed[i] = w[i]");
    INFO(outcome.reason);
    CHECK(outcome.kind == OutcomeKind::valid);
}

TEST_CASE("what is wrong with packed weights is found and told") {
    CHECK(verdict_of_packing("packed[i] = i % 7 ? w[i] : 0").kind == OutcomeKind::wrong_result);
    CHECK(verdict_of_packing("if (i % 7) packed[i] = w[i]").kind == OutcomeKind::not_finite);
    CHECK(verdict_of_packing("{ packed[i] = w[i]; packed[count + i % 2] = 0; }", 8).kind == OutcomeKind::valid);
    // A call that leaves something for the next one in memory that lives on.
    const Outcome used_up = verdict_of_packing("packed[i] = w[i]", 8, [](Runnable& runnable) {
        auto& call = runnable.other_batch->launch_packed;
        call = [launch = call](const CallTensors& tensors) {
            launch(tensors);
            const std::int64_t weight_bytes = 4 * weight_elements(test::planted_problem());
            test::emulated().device->fill(tensors.packed_weight + static_cast<DevicePointer>(weight_bytes), 1, 4);
        };
    });
    CHECK(used_up.kind == OutcomeKind::out_of_bounds);
    CHECK_THAT(used_up.reason, contains("packed weights were written by a launch that is not weights_only"));
    // Adding to what is there works as long as each call finds it filled with zeros: here it is NaN.
    CHECK(verdict_of_packing("packed[i] += w[i]").kind == OutcomeKind::not_finite);
}

TEST_CASE("a kernel that needs more alignment than its plan says is refused") {
    CHECK_THAT(reason(Fault::needs_alignment, OutcomeKind::launch_error),
               contains("vector load") && contains("tensors aligned to 4 bytes"));
    CHECK_THAT(reason(Fault::depends_on_alignment, OutcomeKind::wrong_result), contains("aligned to 4 bytes"));
    const auto declare = [](Runnable& runnable) { runnable.alignment = 16; };
    CHECK(verdict(Fault::needs_alignment, k_never_slow, declare).kind == OutcomeKind::valid);
    CHECK(verdict(Fault::depends_on_alignment, k_never_slow, declare).kind == OutcomeKind::valid);
}

TEST_CASE("a race is refused") {
    const OutcomeKind kind = verdict(Fault::race).kind;
    CHECK((kind == OutcomeKind::wrong_result || kind == OutcomeKind::nondeterministic));
}

TEST_CASE("NaN in the output is refused") {
    CHECK_THAT(reason(Fault::not_a_number, OutcomeKind::not_finite), contains("NaN"));
}

TEST_CASE("a deadlocked barrier is an outcome with its reason, not a hang") {
    CHECK_THAT(reason(Fault::deadlock, OutcomeKind::launch_error), contains("deadlock"));
}

TEST_CASE("a kernel that writes to its inputs is refused, and the next one does not suffer") {
    Trials trials;
    const std::pair<Fault, const char*> cases[]{{Fault::write_input, "the input was written"},
                                                {Fault::write_weight, "the weight was written"},
                                                {Fault::write_bias, "the bias was written"}};
    for (const auto& [fault, words] : cases) {
        const Outcome outcome = trials.verdict(fault);
        CHECK(to_string(outcome.kind) == to_string(OutcomeKind::out_of_bounds));
        CHECK(outcome.reason == words);
        CHECK(trials.verdict(Fault::none).kind == OutcomeKind::valid);
    }
}

TEST_CASE("a kernel that fails after writing to its inputs leaves the next one in peace") {
    Trials trials;
    const auto spoil = [&](Runnable& runnable) {
        runnable.launch = [&device = *trials.emulated.device](const CallTensors& tensors) {
            device.fill(tensors.input, 0, 8);
            throw Error(ErrorKind::device, "broken off");
        };
    };
    CHECK(trials.verdict(Fault::none, k_never_slow, spoil).kind == OutcomeKind::launch_error);
    CHECK(trials.verdict(Fault::none).kind == OutcomeKind::valid);
}

// An address-sanitized emulator ends the program at the access itself; these are for the guards.
#ifndef TCONV_SANITIZE

TEST_CASE("packed weights that are written beyond their end are found") {
    const Outcome beyond = verdict_of_packing("{ packed[i] = w[i]; packed[count + i % 2] = 0; }");
    CHECK(beyond.kind == OutcomeKind::out_of_bounds);
    CHECK_THAT(beyond.reason, contains("8 bytes around the packed weights were written"));
}

TEST_CASE("a call that differs where its weights were packed before is refused") {
    const auto other_call = [](Runnable& runnable) {
        // As if the packing had left something behind elsewhere that the call needs.
        runnable.packed_weight_bytes = 4;
        runnable.pack = [](const CallTensors&) {};
        const auto shifted = [launch = runnable.other_batch->launch](const CallTensors& tensors) {
            CallTensors others = tensors;
            others.weight = tensors.bias;
            launch(others);
        };
        runnable.other_batch->launch_packed = shifted;
    };
    const Outcome outcome = verdict(Fault::none, k_never_slow, other_call);
    CHECK(outcome.kind == OutcomeKind::wrong_result);
    CHECK_THAT(outcome.reason, contains("weights packed before"));
}

TEST_CASE("a read past the end or before the start of the input is refused") {
    const OutcomeKind kind = verdict(Fault::read_past_end).kind;
    // In the interior it reads the next batch entry, behind the last one the NaN of the guard.
    CHECK((kind == OutcomeKind::wrong_result || kind == OutcomeKind::not_finite));
    CHECK_THAT(reason(Fault::read_before_start, OutcomeKind::not_finite), contains("1 of 140"));
}

TEST_CASE("a write round the output or the workspace is refused, and the next kernel does not suffer") {
    Trials trials;
    const std::pair<Fault, const char*> cases[]{{Fault::write_past_end, "4 bytes around the output"},
                                                {Fault::write_before_start, "4 bytes around the output"},
                                                {Fault::write_past_workspace, "4 bytes around the workspace"}};
    for (const auto& [fault, words] : cases) {
        const Outcome outcome = trials.verdict(fault);
        CHECK(to_string(outcome.kind) == to_string(OutcomeKind::out_of_bounds));
        CHECK_THAT(outcome.reason, contains(words));
        CHECK(trials.verdict(Fault::none).kind == OutcomeKind::valid);
    }
}
#endif
