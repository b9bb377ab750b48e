#include "tuner/validator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.hpp"
#include "tuner/timer.hpp"

namespace tconv {
namespace {

constexpr std::array<Distribution, 2> k_distributions{Distribution::normal, Distribution::uniform};

std::size_t bytes_for(std::int64_t elements, std::int64_t size) {
    return static_cast<std::size_t>(elements * size);
}

/// Device memory that one distribution takes: inputs, float64 reference, float32 scale.
double bytes_of_set(const Problem& p) {
    return minimum_bytes(p) + 12.0 * static_cast<double>(output_elements(p));
}

}  // namespace

struct Validator::DataSet {
    Distribution distribution;
    std::unique_ptr<GuardedBuffer> input, weight, bias, reference, scale;
};

Validator::Validator(Device& device, SupportKernels& support, const Problem& problem, std::uint64_t seed)
    : device_(device), support_(support), problem_(problem), seed_(seed) {
    constexpr double share = 0.6;
    keep_all_ =
        k_distributions.size() * bytes_of_set(problem) < share * static_cast<double>(device.info().memory_bytes);
    for (const Distribution distribution : k_distributions) {
        sets_.push_back(std::make_unique<DataSet>());
        sets_.back()->distribution = distribution;
    }
    const std::size_t output_bytes = bytes_for(output_elements(problem), size_in_bytes(problem.dtype));
    output_ = std::make_unique<GuardedBuffer>(device, output_bytes);
    second_output_ = std::make_unique<GuardedBuffer>(device, output_bytes);
    workspace_ = std::make_unique<GuardedBuffer>(device, 0);
    make_inputs(*sets_.front());
}

Validator::~Validator() = default;

void Validator::make_inputs(DataSet& set) {
    const std::int64_t size = size_in_bytes(problem_.dtype);
    const auto make = [&](std::int64_t elements, std::uint64_t stream) {
        auto buffer = std::make_unique<GuardedBuffer>(device_, bytes_for(elements, size));
        // Streams differ by distribution and tensor, so that no two tensors are equal.
        const std::uint64_t seed = seed_ * 64 + static_cast<std::uint64_t>(set.distribution) * 8 + stream;
        if (elements > 0) support_.fill_random(problem_.dtype, buffer->address(), elements, set.distribution, seed);
        return buffer;
    };
    set.input = make(input_elements(problem_), 0);
    set.weight = make(weight_elements(problem_), 1);
    set.bias = make(bias_elements(problem_), 2);
}

void Validator::make_reference(DataSet& set) {
    const std::int64_t outputs = output_elements(problem_);
    set.reference = std::make_unique<GuardedBuffer>(device_, bytes_for(outputs, 8));
    set.scale = std::make_unique<GuardedBuffer>(device_, bytes_for(outputs, 4));
    support_.scaled_reference(problem_, set.input->address(), set.weight->address(),
                              problem_.bias ? set.bias->address() : 0, set.reference->address(), set.scale->address());
    device_.synchronize();
}

Validator::DataSet& Validator::prepared(std::size_t index) {
    DataSet& set = *sets_[index];
    if (!keep_all_) {
        for (const auto& other : sets_) {
            if (other.get() != &set) *other = DataSet{other->distribution, {}, {}, {}, {}, {}};
        }
    }
    if (!set.input) make_inputs(set);
    if (!set.reference) make_reference(set);
    return set;
}

CallTensors Validator::tensors_of(const DataSet& set, const GuardedBuffer& output) const {
    return {set.input->address(), set.weight->address(), problem_.bias ? set.bias->address() : 0,
            output.address(),     workspace_->address(), nullptr};
}

CallTensors Validator::timing_tensors(std::int64_t workspace_bytes) {
    ensure_workspace(workspace_bytes);
    DataSet& set = *sets_.front();
    if (!set.input) make_inputs(set);
    return tensors_of(set, *output_);
}

void Validator::ensure_workspace(std::int64_t bytes) {
    // Exact size, so that a plan that asks for too little is caught by the guards.
    if (workspace_->bytes() == static_cast<std::size_t>(bytes)) return;
    workspace_.reset();
    workspace_ = std::make_unique<GuardedBuffer>(device_, static_cast<std::size_t>(bytes));
}

void Validator::validate(const Runnable& runnable, double tolerance, Outcome& outcome, double slow_milliseconds) {
    outcome.error = {};
    ensure_workspace(runnable.workspace_bytes);
    for (std::size_t index = 0; index < sets_.size(); ++index) {
        DataSet& set = prepared(index);
        std::optional<double> milliseconds = run_once(runnable, set, *output_, outcome);
        if (!milliseconds || !check_guards(set, *output_, outcome) || !check_values(set, tolerance, outcome)) return;
        const auto slow = [&] { return index == 0 && slow_milliseconds > 0 && *milliseconds > slow_milliseconds; };
        // Once more: the first run may have met a device that had fallen asleep.
        if (slow()) milliseconds = run_once(runnable, set, *output_, outcome);
        if (!milliseconds) return;
        if (slow()) {
            outcome.kind = OutcomeKind::too_slow;
            outcome.reason = fmt::format("it took {:.4g} ms, and {:.4g} ms is too long beside the best", *milliseconds,
                                         slow_milliseconds);
            outcome.timing = summarise({*milliseconds});
            outcome.timing.dropped_early = true;
            return;
        }
        if (runnable.deterministic && !check_repeat(runnable, set, outcome)) return;
    }
    outcome.kind = OutcomeKind::valid;
    outcome.reason.clear();
}

// Milliseconds of the run; none where it failed.
std::optional<double> Validator::run_once(const Runnable& runnable, DataSet& set, GuardedBuffer& output,
                                          Outcome& outcome) {
    const auto poison = [&] {
        output.poison();
        workspace_->poison();
    };
    try {
        const CallTensors tensors = tensors_of(set, output);
        const double milliseconds = device_.time(1, poison, [&] { runnable.launch(tensors); }).front();
        device_.synchronize();
        return milliseconds;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::device) throw;
        outcome.kind = OutcomeKind::launch_error;
        outcome.reason = error.what();
        return std::nullopt;
    }
}

bool Validator::check_guards(DataSet& set, GuardedBuffer& output, Outcome& outcome) {
    constexpr std::array<const char*, 5> names{"input", "weight", "bias", "output", "workspace"};
    const std::vector<std::uint64_t> damages =
        damage_around({set.input.get(), set.weight.get(), set.bias.get(), &output, workspace_.get()}, support_);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (damages[i] == 0) continue;
        outcome.kind = OutcomeKind::out_of_bounds;
        outcome.reason = fmt::format("{} bytes around the {} were written", damages[i], names.at(i));
        return false;
    }
    return true;
}

bool Validator::check_values(const DataSet& set, double tolerance, Outcome& outcome) {
    const Comparison found = support_.compare(problem_.dtype, output_->address(), set.reference->address(),
                                              set.scale->address(), output_elements(problem_));
    const std::string distribution = to_string(set.distribution);
    if (found.bad_count > 0) {
        outcome.kind = OutcomeKind::not_finite;
        outcome.reason = fmt::format(
            "{} of {} outputs are NaN or infinite, the first at {} (not written, or computed from memory outside a "
            "tensor; "
            "{} inputs)",
            found.bad_count, output_elements(problem_), output_position(found.first_bad), distribution);
        return false;
    }
    if (found.relative >= outcome.error.relative) {
        outcome.error.relative = found.relative;
        outcome.error.worst_index = found.worst_index;
        outcome.error.distribution = distribution;
    }
    outcome.error.absolute = std::max(outcome.error.absolute, found.absolute);
    if (found.relative <= tolerance) return true;
    outcome.kind = OutcomeKind::wrong_result;
    outcome.reason = fmt::format("error {:.3g} is above the tolerance {:.3g}; the largest is at {} ({} inputs)",
                                 found.relative, tolerance, output_position(found.worst_index), distribution);
    return false;
}

bool Validator::check_repeat(const Runnable& runnable, DataSet& set, Outcome& outcome) {
    if (!run_once(runnable, set, *second_output_, outcome) || !check_guards(set, *second_output_, outcome))
        return false;
    const std::uint64_t differing =
        support_.count_differences(output_->address(), second_output_->address(), output_->bytes());
    if (differing == 0) return true;
    outcome.kind = OutcomeKind::nondeterministic;
    outcome.reason =
        fmt::format("two runs on the same {} inputs differ in {} words", to_string(set.distribution), differing);
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
