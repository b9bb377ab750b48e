#include "tuner/validator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.hpp"
#include "tuner/timer.hpp"

namespace tconv {
namespace {

constexpr std::array<Distribution, 4> k_distributions{Distribution::normal, Distribution::integers, Distribution::wide,
                                                      Distribution::uniform};

std::size_t bytes_for(std::int64_t elements, std::int64_t size) {
    return static_cast<std::size_t>(elements * size);
}

std::int64_t entry_elements(const Problem& problem) {
    return output_elements(problem) / problem.batch;
}

/// How many distributions the device's memory holds at once, beside the outputs and the tensors of another batch. One
/// takes its tensors, the float64 reference and the float32 scale.
std::size_t distributions_held(const Problem& problem, const Device& device) {
    constexpr double share = 0.6;
    const double each = minimum_bytes(problem) + 12.0 * static_cast<double>(output_elements(problem));
    const double other_batch = 1 + 1 / static_cast<double>(problem.batch);
    const double room = share * static_cast<double>(device.memory_limit()) - (1 + other_batch) * minimum_bytes(problem);
    return static_cast<std::size_t>(std::clamp(room / each, 0.0, static_cast<double>(k_distributions.size())));
}

void fail(Outcome& outcome, OutcomeKind kind, std::string reason) {
    outcome.kind = kind;
    outcome.reason = std::move(reason);
}

}  // namespace

struct Validator::DataSet {
    Distribution distribution;
    std::unique_ptr<TestTensors> tensors;
    std::unique_ptr<GuardedBuffer> reference, scale;
};

/// The first distribution's inputs for another batch, with an output, a workspace and packed weights, all aligned as
/// little as asked.
struct Validator::Twin {
    Twin(Device& device, SupportKernels& support, const Problem& problem, std::uint64_t seed, std::int64_t batch,
         std::int64_t aligned_to)
        : alignment(aligned_to),
          tensors(device, support, problem, k_distributions.front(), seed, batch, aligned_to),
          output(device, bytes_for(batch * entry_elements(problem), size_in_bytes(problem.dtype))) {
        output.place(alignment);
    }

    std::int64_t alignment;
    TestTensors tensors;
    GuardedBuffer output;
    std::unique_ptr<GuardedBuffer> workspace;
    std::unique_ptr<GuardedBuffer> packed_weight;
};

Validator::Validator(Device& device, SupportKernels& support, const Problem& problem, std::uint64_t seed)
    : device_(device), support_(support), problem_(problem), seed_(seed), kept_(distributions_held(problem, device)) {
    for (const Distribution distribution : k_distributions) {
        sets_.push_back(std::make_unique<DataSet>());
        sets_.back()->distribution = distribution;
    }
    output_ =
        std::make_unique<GuardedBuffer>(device, bytes_for(output_elements(problem), size_in_bytes(problem.dtype)));
    workspace_ = std::make_unique<GuardedBuffer>(device, 0);
    packed_weight_ = std::make_unique<GuardedBuffer>(device, 0);
    make_tensors(*sets_.front());
}

Validator::~Validator() = default;

void Validator::make_tensors(DataSet& set) {
    set.tensors = std::make_unique<TestTensors>(device_, support_, problem_, set.distribution, seed_, problem_.batch,
                                                k_most_alignment);
}

void Validator::make_reference(DataSet& set) {
    const std::int64_t outputs = output_elements(problem_);
    set.reference = std::make_unique<GuardedBuffer>(device_, bytes_for(outputs, 8));
    set.scale = std::make_unique<GuardedBuffer>(device_, bytes_for(outputs, 4));
    const CallTensors call = set.tensors->call(*output_, *workspace_, *packed_weight_);
    support_.scaled_reference(problem_, call.input, call.weight, call.bias, set.reference->address(),
                              set.scale->address());
    device_.synchronize();
}

Validator::DataSet& Validator::prepared(std::size_t index) {
    DataSet& set = *sets_[index];
    for (std::size_t other = kept_; other < sets_.size(); ++other) {
        if (other != index) *sets_[other] = DataSet{sets_[other]->distribution, {}, {}, {}};
    }
    if (kept_ == 0) twin_.reset();
    if (!set.tensors) make_tensors(set);
    if (!set.reference) make_reference(set);
    return set;
}

CallTensors Validator::timing_tensors(std::int64_t workspace_bytes, std::int64_t packed_weight_bytes) {
    ensure_workspace(workspace_bytes, packed_weight_bytes);
    DataSet& set = *sets_.front();
    if (!set.tensors) make_tensors(set);
    return set.tensors->call(*output_, *workspace_, *packed_weight_);
}

void Validator::ensure_workspace(std::int64_t bytes, std::int64_t packed_weight_bytes) {
    // Exact sizes, so that a plan that asks for too little is caught by the guards.
    const auto ensure = [&](std::unique_ptr<GuardedBuffer>& buffer, std::int64_t size) {
        // There is none where an allocation failed before.
        if (buffer && buffer->bytes() == static_cast<std::size_t>(size)) return;
        buffer.reset();
        buffer = std::make_unique<GuardedBuffer>(device_, static_cast<std::size_t>(size));
    };
    ensure(workspace_, bytes);
    ensure(packed_weight_, packed_weight_bytes);
}

Validator::Run Validator::ordinary_run(const Runnable& runnable, DataSet& set, GuardedBuffer& output) {
    return {runnable.launch, *set.tensors, output, *workspace_, *packed_weight_, {}};
}

Validator::Run Validator::twin_run(const Runnable& runnable, std::int64_t alignment) {
    const std::int64_t batch = runnable.other_batch ? runnable.other_batch->batch : problem_.batch;
    const std::int64_t workspace_bytes =
        runnable.other_batch ? runnable.other_batch->workspace_bytes : runnable.workspace_bytes;
    if (!twin_ || twin_->tensors.batch() != batch) {
        twin_.reset();
        twin_ = std::make_unique<Twin>(device_, support_, problem_, seed_, batch, alignment);
    } else if (twin_->alignment != alignment) {
        twin_->tensors.place(alignment);
        twin_->output.place(alignment);
        twin_->alignment = alignment;
    }
    const auto make = [&](std::unique_ptr<GuardedBuffer>& buffer, std::int64_t size) {
        buffer.reset();
        buffer = std::make_unique<GuardedBuffer>(device_, static_cast<std::size_t>(size));
        buffer->place(std::max(alignment, runnable.workspace_alignment));
    };
    make(twin_->workspace, workspace_bytes);
    make(twin_->packed_weight, runnable.packed_weight_bytes);
    return {runnable.other_batch ? runnable.other_batch->launch : runnable.launch,
            twin_->tensors,
            twin_->output,
            *twin_->workspace,
            *twin_->packed_weight,
            fmt::format(" (batch {}, tensors aligned to {} bytes)", batch, alignment)};
}

void Validator::validate(const Runnable& runnable, double tolerance, Outcome& outcome, double slow_milliseconds) {
    outcome.error = {};
    ensure_workspace(runnable.workspace_bytes, runnable.packed_weight_bytes);
    if (!check_first(runnable, tolerance, outcome, slow_milliseconds) || !check_twin(runnable, tolerance, outcome) ||
        !check_packed(runnable, outcome))
        return;
    for (std::size_t index = 1; index < sets_.size(); ++index) {
        if (!check_distribution(index, runnable, tolerance, outcome)) return;
    }
    outcome.kind = OutcomeKind::valid;
    outcome.reason.clear();
}

bool Validator::check_first(const Runnable& runnable, double tolerance, Outcome& outcome, double slow_milliseconds) {
    DataSet& set = prepared(0);
    const Part whole{output_->address(), 0, output_elements(problem_)};
    // Once more where it was slow: the first run may have met a device that had fallen asleep.
    for (int attempt = 0; attempt < 2; ++attempt) {
        const auto milliseconds = run_checked(ordinary_run(runnable, set, *output_), outcome);
        if (!milliseconds || !check_values(whole, set, runnable, tolerance, {}, outcome)) return false;
        if (slow_milliseconds <= 0 || *milliseconds <= slow_milliseconds) return true;
        outcome.timing = summarise({*milliseconds});
    }
    outcome.timing.dropped_early = true;
    fail(outcome, OutcomeKind::too_slow,
         fmt::format("it took {:.4g} ms, and {:.4g} ms is too long beside the best", outcome.timing.median,
                     slow_milliseconds));
    return false;
}

bool Validator::check_distribution(std::size_t index, const Runnable& runnable, double tolerance, Outcome& outcome) {
    DataSet& set = prepared(index);
    return run_checked(ordinary_run(runnable, set, *output_), outcome) &&
           check_values({output_->address(), 0, output_elements(problem_)}, set, runnable, tolerance, {}, outcome);
}

bool Validator::check_twin(const Runnable& runnable, double tolerance, Outcome& outcome) {
    const Run run = twin_run(runnable, runnable.alignment);
    if (!run_checked(run, outcome)) return false;
    const DataSet& set = *sets_.front();
    const std::int64_t common = common_elements(run.output);
    const auto check = [&](std::int64_t first_entry, std::int64_t count) {
        const std::int64_t offset = first_entry * entry_elements(problem_) * size_in_bytes(problem_.dtype);
        return check_values({run.output.address() + static_cast<DevicePointer>(offset), first_entry, count}, set,
                            runnable, tolerance, run.circumstances, outcome);
    };
    if (runnable.deterministic) {
        if (differences(run.output) > 0) {
            explain_difference(runnable, outcome);
            return false;
        }
    } else {
        if (!check(0, common)) return false;
        outcome.error.repeat_spread = support_.spread(problem_.dtype, output_->address(), run.output.address(),
                                                      set.reference->address(), set.scale->address(), common);
    }
    return run.tensors.batch() <= problem_.batch || check(problem_.batch, entry_elements(problem_));
}

// Packed once, used twice.
bool Validator::check_packed(const Runnable& runnable, Outcome& outcome) {
    if (!runnable.pack) return true;
    Run run = twin_run(runnable, runnable.alignment);
    run.circumstances += " and weights packed before";
    const Run packing{runnable.pack, run.tensors, run.output, run.workspace, run.packed_weight, run.circumstances};
    if (!run_checked(packing, outcome)) return false;
    const auto digest = [&] {
        return support_.digests(
            DataType::f16, {{run.packed_weight.address(), static_cast<std::int64_t>(run.packed_weight.bytes() / 2)}});
    };
    const auto packed = digest();
    const auto& launch = runnable.other_batch ? runnable.other_batch->launch_packed : runnable.launch_packed;
    const Run call{launch, run.tensors, run.output, run.workspace, run.packed_weight, run.circumstances, true};
    for (int time = 0; time < 2; ++time) {
        if (!run_checked(call, outcome)) return false;
        if (digest() != packed) {
            fail(outcome, OutcomeKind::out_of_bounds,
                 fmt::format("the packed weights were written by a launch that is not weights_only{}",
                             run.circumstances));
            return false;
        }
        if (const std::uint64_t found = differences(run.output); found > 0) {
            fail(outcome, OutcomeKind::wrong_result,
                 fmt::format("{} outputs are others than where the call packs the weights itself{}", found,
                             run.circumstances));
            return false;
        }
    }
    return true;
}

// The second launch gave other bits than the first: because it was a second one, for its batch, or for its alignment?
void Validator::explain_difference(const Runnable& runnable, Outcome& outcome) {
    DataSet& set = *sets_.front();
    const std::string inputs = to_string(set.distribution);
    GuardedBuffer again(device_, output_->bytes());
    if (!run_checked(ordinary_run(runnable, set, again), outcome)) return;
    if (const std::uint64_t found = differences(again); found > 0) {
        fail(outcome, OutcomeKind::nondeterministic,
             fmt::format("two runs on the same {} inputs differ in {} outputs", inputs, found));
        return;
    }
    const Run aligned = twin_run(runnable, k_most_alignment);
    if (!run_checked(aligned, outcome)) return;
    if (const std::uint64_t found = differences(aligned.output); found > 0) {
        fail(outcome, OutcomeKind::wrong_result,
             fmt::format("with batch {} the same {} inputs give other results than with batch {}, in {} outputs",
                         aligned.tensors.batch(), inputs, problem_.batch, found));
        return;
    }
    fail(outcome, OutcomeKind::wrong_result,
         fmt::format("with tensors aligned to {} bytes, which is all that it asks for, the same {} inputs give other "
                     "results",
                     runnable.alignment, inputs));
}

std::int64_t Validator::common_elements(const GuardedBuffer& output) const {
    return static_cast<std::int64_t>(std::min(output_->bytes(), output.bytes())) / size_in_bytes(problem_.dtype);
}

std::uint64_t Validator::differences(const GuardedBuffer& output) const {
    return support_.count_differences(problem_.dtype, output_->address(), output.address(), common_elements(output));
}

// Milliseconds of the run; none where it failed or wrote where it must not.
std::optional<double> Validator::run_checked(const Run& run, Outcome& outcome) {
    const std::optional<double> milliseconds = run_once(run, outcome);
    return milliseconds && check_memory(run, outcome) ? milliseconds : std::nullopt;
}

std::optional<double> Validator::run_once(const Run& run, Outcome& outcome) {
    const auto poison = [&] {
        run.output.poison();
        run.workspace.poison();
        if (!run.keeps_packed) run.packed_weight.poison();
    };
    try {
        const CallTensors tensors = run.tensors.call(run.output, run.workspace, run.packed_weight);
        const double milliseconds = device_.time(1, poison, [&] { run.launch(tensors); }).front();
        device_.synchronize();
        return milliseconds;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::device) throw;
        fail(outcome, OutcomeKind::launch_error, error.what() + run.circumstances);
        forget_damage(run);
        return std::nullopt;
    }
}

// A launch that failed may have written anywhere before.
void Validator::forget_damage(const Run& run) noexcept {
    try {
        run.tensors.restore();
        run.output.restore_zones();
        run.workspace.restore_zones();
        run.packed_weight.restore_zones();
    } catch (const std::exception&) {
        // The device is lost; whoever uses it next finds out.
    }
}

bool Validator::check_memory(const Run& run, Outcome& outcome) {
    constexpr std::array<const char*, 6> names{"input", "weight", "bias", "output", "workspace", "packed weights"};
    const std::vector<GuardedBuffer*> buffers{&run.tensors.input(), &run.tensors.weight(), &run.tensors.bias(),
                                              &run.output,          &run.workspace,        &run.packed_weight};
    // One wait of the host for all that is to be known.
    const SupportKernels::MemoryState found =
        support_.memory_state(open_zones(buffers), GuardedBuffer::k_guard_bytes, GuardedBuffer::k_poison,
                              problem_.dtype, run.tensors.spans());
    const std::vector<std::uint64_t> damages = close_zones(buffers, found.changed);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (damages[i] == 0) continue;
        fail(outcome, OutcomeKind::out_of_bounds,
             fmt::format("{} bytes around the {} were written{}", damages[i], names.at(i), run.circumstances));
        return false;
    }
    const std::string changed = run.tensors.take_changes(found.digests);
    if (changed.empty()) return true;
    fail(outcome, OutcomeKind::out_of_bounds, fmt::format("the {} was written{}", changed, run.circumstances));
    return false;
}

bool Validator::check_values(const Part& part, const DataSet& set, const Runnable& runnable, double tolerance,
                             const std::string& circumstances, Outcome& outcome) {
    const Comparison found =
        support_.compare(problem_.dtype, part.output, set.reference->address(), set.scale->address(), part.count);
    const std::string inputs = fmt::format("{} inputs{}", to_string(set.distribution), circumstances);
    const auto position = [&](std::int64_t index) {
        return output_position(part.first_entry * entry_elements(problem_) + index);
    };
    if (found.bad_count > 0) {
        fail(outcome, OutcomeKind::not_finite,
             fmt::format("{} of {} outputs are NaN or infinite, the first at {} (not written, or computed from memory "
                         "outside a tensor; {})",
                         found.bad_count, part.count, position(found.first_bad), inputs));
        return false;
    }
    if (found.relative >= outcome.error.relative) {
        outcome.error.relative = found.relative;
        outcome.error.worst_index = part.first_entry * entry_elements(problem_) + found.worst_index;
        outcome.error.distribution = to_string(set.distribution);
    }
    outcome.error.absolute = std::max(outcome.error.absolute, found.absolute);
    if (found.relative > tolerance) {
        fail(outcome, OutcomeKind::wrong_result,
             fmt::format("error {:.3g} is above the tolerance {:.3g}; the largest is at {} ({})", found.relative,
                         tolerance, position(found.worst_index), inputs));
        return false;
    }
    const bool exact =
        set.distribution == Distribution::integers && runnable.exact_on_integers && integers_are_exact(problem_);
    if (!exact || found.inexact_count == 0) return true;
    fail(outcome, OutcomeKind::wrong_result,
         fmt::format("{} of {} outputs are not exact, the first at {} (integers of at most {}, whose sums no step need "
                     "round)",
                     found.inexact_count, part.count, position(found.first_inexact), integer_range(problem_)));
    return false;
}

std::string Validator::output_position(std::int64_t index) const {
    const Extents size = output_extents(problem_);
    const std::int64_t volume = size[0] * size[1] * size[2];
    const bool channels_last = problem_.layout == Layout::nhwc;
    std::int64_t position = channels_last ? index / problem_.out_channels % volume : index % volume;
    const std::int64_t channel = channels_last ? index % problem_.out_channels : index / volume % problem_.out_channels;
    const std::int64_t entry = index / (volume * problem_.out_channels);
    Extents at{};
    for (std::size_t axis = 3; axis-- > 0;) {
        at[axis] = position % size[axis];
        position /= size[axis];
    }
    return fmt::format("batch {} channel {} position {}", entry, channel, join_extents(problem_, at));
}

}  // namespace tconv
