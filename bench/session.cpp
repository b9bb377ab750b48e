#include "bench/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/error.hpp"
#include "tuner/ceilings.hpp"
#include "tuner/evaluate.hpp"
#include "tuner/session.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_peer_finalists = 3;
constexpr double k_seconds_in_turn = 1.5;
constexpr int k_least_rounds = 7;
constexpr int k_least_slow_rounds = 3;  // where a single round takes the time of all
constexpr int k_most_rounds = 40;
constexpr double k_flush_seconds = 1.5e-4;  // what a round costs beside the kernels, a contestant
constexpr double k_copy_drift = 0.05;       // the copy against the run's ceiling: beyond, something was amiss
constexpr int k_copies_while_reading = 40;  // some 20 ms on an H200
constexpr std::size_t k_copy_bytes = std::size_t{1} << 30;

}  // namespace

/// What takes part in the interleaved timing.
struct BenchSession::Sides {
    OurKernel kernel;
    std::optional<Runnable> ours;
    PeerFinalists peer;
};

BenchSession::BenchSession(const KernelSource& source, Peer peer, const GpuMonitor* monitor)
    : source_(source),
      peer_(std::move(peer)),
      monitor_(monitor),
      kernels_(source.laboratory.device(), source.laboratory.builder()) {}

BenchSession::~BenchSession() = default;

BenchResult BenchSession::measure(const BenchCell& cell, const std::function<void(const std::string&)>& stage,
                                  const std::stop_token& stop) {
    BenchResult result;
    result.layer = cell.layer;
    result.group = cell.group;
    result.problem = cell.problem;
    result.mode = cell.mode;
    result.tolerance = tolerance_of(cell.mode);
    result.peer_reason = peer_.reason;
    if (const std::string refusal = run_refusal(cell.problem, source_.laboratory.device().info()); !refusal.empty()) {
        result.ours_reason = refusal;
        return result;
    }
    result.limit_milliseconds =
        limit_milliseconds(cell.problem, source_.laboratory.ceilings(),
                           fastest_arithmetic(cell.problem.dtype, result.tolerance, is_strict(cell.mode)));
    Sides sides;
    stage("tconv's kernel");
    find_ours(cell, stop, result, sides);
    if (stop.stop_requested()) return result;
    stage("cuDNN's engines");
    find_peer(cell, stop, result, sides);
    if (stop.stop_requested()) return result;
    stage("in turn");
    interleave(sides, result);
    return result;
}

void BenchSession::prepare(const Problem& problem) {
    if (validator_ && validator_->problem() == problem) return;
    validator_.reset();  // its memory first
    validator_ =
        std::make_unique<Validator>(source_.laboratory.device(), source_.laboratory.support(), problem, source_.seed);
}

void BenchSession::find_ours(const BenchCell& cell, const std::stop_token& stop, BenchResult& result, Sides& sides) {
    try {
        sides.kernel =
            find_our_kernel({cell.problem, cell.layer, result.tolerance, is_strict(cell.mode)}, source_, stop);
        prepare(cell.problem);
        Runnable runnable =
            runnable_plan(source_.laboratory.device(), *sides.kernel.module, sides.kernel.plan, cell.problem.batch);
        Outcome outcome;
        validator_->validate(runnable, result.tolerance, outcome);
        if (outcome.kind != OutcomeKind::valid) {
            result.ours_reason = fmt::format("{}: {}", to_string(outcome.kind), outcome.reason);
            return;
        }
        sides.ours = std::move(runnable);
        Contestant& ours = result.ours.emplace();
        ours.description = sides.kernel.family;
        ours.rung = sides.kernel.rung;
        ours.config = sides.kernel.config;
        ours.error = outcome.error.relative;
        ours.workspace_bytes = sides.ours->workspace_bytes + sides.ours->packed_weight_bytes;
    } catch (const Error& error) {
        result.ours_reason = error.what();
    }
}

void BenchSession::find_peer(const BenchCell& cell, const std::stop_token& stop, BenchResult& result, Sides& sides) {
    if (peer_.library == nullptr) return;
    prepare(cell.problem);
    sides.peer = search_peer(peer_, cell.mode, source_.laboratory.device(), *validator_, source_.laboratory.timer(),
                             k_peer_finalists, stop);
    result.peer_reason = sides.peer.reason;
}

std::vector<std::function<void()>> BenchSession::works_of(Sides& sides) {
    struct Side {
        Runnable* runnable;
        bool keeps_packed;
        std::int64_t packed_offset;
    };
    std::vector<Side> all;
    std::int64_t workspace_bytes = 0;
    std::int64_t packed_bytes = 0;
    const auto add = [&](Runnable& runnable, bool keeps_packed) {
        all.push_back({&runnable, keeps_packed, packed_bytes});
        workspace_bytes = std::max(workspace_bytes, runnable.workspace_bytes);
        packed_bytes += (runnable.packed_weight_bytes + k_most_alignment - 1) / k_most_alignment * k_most_alignment;
    };
    if (sides.ours) add(*sides.ours, source_.weights_prepared);
    for (auto& finalist : sides.peer.finalists)
        add(finalist.runnable, peer_.weights_prepared);
    const CallTensors tensors = validator_->timing_tensors(workspace_bytes, packed_bytes);
    std::vector<std::function<void()>> works;
    for (const Side& side : all) {
        CallTensors own = tensors;
        own.packed_weight += static_cast<DevicePointer>(side.packed_offset);
        if (side.keeps_packed) keep_packed(*side.runnable, own);
        works.push_back(replayed(source_.laboratory.device(), *side.runnable, own));
    }
    return works;
}

void BenchSession::interleave(Sides& sides, BenchResult& result) {
    prepare(result.problem);
    std::vector<std::function<void()>> works = works_of(sides);
    if (works.empty()) return;
    const bool with_copy = source_.laboratory.device().info().kind == DeviceKind::cuda;
    if (with_copy) works.emplace_back([this] { copy_once(); });

    Timer& timer = source_.laboratory.timer();
    // One round first: it warms everything up, says how many rounds are affordable, and finds the clocks at work.
    double round_seconds = k_flush_seconds * static_cast<double>(works.size());
    for (const Timing& timing : timer.interleave(works, 1))
        round_seconds += 2 * timing.median / 1000;  // untimed first
    const int least = round_seconds > k_seconds_in_turn / 2 ? k_least_slow_rounds : k_least_rounds;
    const int rounds =
        std::clamp(static_cast<int>(std::min(k_seconds_in_turn / round_seconds, 1e6)), least, k_most_rounds);
    result.before = conditions();
    std::vector<Timing> timings = timer.interleave(works, rounds);
    result.after = conditions();
    result.warnings = condition_warnings(result.before, result.after);

    std::size_t next = 0;
    if (sides.ours) result.ours->timing = std::move(timings[next++]);
    for (const auto& finalist : sides.peer.finalists) {
        Timing& timing = timings[next++];
        if (result.peer && result.peer->timing.median <= timing.median) continue;
        Contestant& peer = result.peer.emplace();
        peer.description = finalist.runnable.description;
        peer.error = finalist.error;
        peer.offered = sides.peer.offered;
        peer.failed = sides.peer.failed;
        peer.refused = sides.peer.refused;
        peer.workspace_bytes = finalist.runnable.workspace_bytes + finalist.runnable.packed_weight_bytes;
        peer.timing = std::move(timing);
    }
    if (!with_copy) return;
    const double rate = 2.0 * static_cast<double>(k_copy_bytes) / (timings[next].median / 1000);
    const double drift = rate / source_.laboratory.ceilings().copy_bytes_per_second - 1;
    if (std::abs(drift) > k_copy_drift) {
        result.warnings.push_back(fmt::format("a copy beside it ran at {:.2f} TB/s, {:+.0f} % off the run's ceiling",
                                              rate / 1e12, 100 * drift));
    }
}

void BenchSession::copy_once() {
    if (!copy_source_) {
        Device& device = source_.laboratory.device();
        copy_source_ = std::make_unique<DeviceMemory>(device, k_copy_bytes);
        copy_target_ = std::make_unique<DeviceMemory>(device, k_copy_bytes);
        device.fill(copy_source_->address(), 1, k_copy_bytes);
    }
    kernels_.copy(copy_source_->address(), copy_target_->address(), static_cast<std::int64_t>(k_copy_bytes / 16));
}

GpuConditions BenchSession::conditions() {
    if (monitor_ == nullptr) {
        GpuConditions none;
        none.reason = "no GPU is watched";
        return none;
    }
    // An idle GPU's clocks tell nothing: it is read at work.
    for (int i = 0; i < k_copies_while_reading; ++i)
        copy_once();
    GpuConditions read = monitor_->read();
    source_.laboratory.device().synchronize();
    return read;
}

}  // namespace tconv
