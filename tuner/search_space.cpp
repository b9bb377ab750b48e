#include "tuner/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "core/error.hpp"
#include "tuner/search_space_binding.hpp"
#include "tuner/space_definition.hpp"

namespace tconv {

struct SearchSpace::Impl {
    SpaceDefinition definition;
    Schedule schedule;
    std::mutex mutex;
    std::unique_ptr<Binding> idle;  // the binding used last, kept for the next call

    Impl(SpaceDefinition space, Schedule order) : definition(std::move(space)), schedule(std::move(order)) {}
};

namespace {

// Compiling the expressions takes about a millisecond, so the last binding is kept. It is taken out while in use: calls
// from another thread, or from inside `visit`, make their own.
template <class Impl>
class BindingLoan {
public:
    BindingLoan(Impl& impl, const Problem& problem, const DeviceInfo& device, const Demand& demand = {}) : impl_(impl) {
        {
            const std::lock_guard lock(impl.mutex);
            if (impl.idle && impl.idle->is_for(problem, device)) binding_ = std::move(impl.idle);
        }
        if (!binding_) binding_ = std::make_unique<Binding>(impl.definition, impl.schedule, problem, device);
        binding_->demand(demand);
    }
    BindingLoan(const BindingLoan&) = delete;
    BindingLoan& operator=(const BindingLoan&) = delete;
    ~BindingLoan() {
        const std::lock_guard lock(impl_.mutex);
        impl_.idle = std::move(binding_);
    }
    Binding* operator->() const { return binding_.get(); }

private:
    Impl& impl_;
    std::unique_ptr<Binding> binding_;
};

constexpr std::int64_t k_probe_nodes = 2000;

// Problems of each number of axes, dtype and layout, to find faulty expressions when a file is loaded.
std::vector<Problem> probe_problems() {
    Problem volume;
    volume.spatial_axes = 3;
    volume.batch = 2;
    volume.in_channels = 32;
    volume.out_channels = 16;
    volume.input = {12, 12, 12};
    volume.kernel = {3, 3, 3};

    Problem image;
    image.in_channels = 64;
    image.out_channels = 32;
    image.groups = 2;
    image.input = {1, 16, 16};
    image.kernel = {1, 4, 4};
    image.stride = {1, 2, 2};
    image.padding = {0, 1, 1};
    image.bias = true;
    image.dtype = DataType::f16;
    image.layout = Layout::nhwc;

    Problem signal;
    signal.spatial_axes = 1;
    signal.in_channels = 16;
    signal.out_channels = 8;
    signal.input = {1, 1, 1000};
    signal.kernel = {1, 1, 7};
    signal.stride = {1, 1, 3};
    signal.dilation = {1, 1, 2};
    signal.output_padding = {0, 0, 1};

    Problem image_f32 = image;
    image_f32.dtype = DataType::f32;
    image_f32.layout = Layout::nchw;
    Problem volume_bf16 = volume;
    volume_bf16.dtype = DataType::bf16;
    return {volume, image_f32, signal, image, volume_bf16};
}

DeviceInfo probe_device() {
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.name = "probe";
    device.compute_major = 9;
    device.multiprocessors = 132;
    device.shared_memory_per_block = 232448;
    device.shared_memory_per_multiprocessor = 233472;
    device.l2_bytes = std::int64_t{50} << 20;
    device.memory_bytes = std::int64_t{80} << 30;
    return device;
}

struct CostlyConfig {
    Config config;
    double compile_seconds;
};

// Again and again the first one of those left that takes at most twice as long as the quickest of them.
std::vector<Config> costly_last(std::vector<CostlyConfig> left) {
    constexpr double k_alike = 2;
    constexpr double k_least_seconds = 1;  // below, no difference is worth a change of order
    std::vector<Config> order;
    while (!left.empty()) {
        double quickest = left.front().compile_seconds;
        for (const CostlyConfig& one : left)
            quickest = std::min(quickest, one.compile_seconds);
        const double limit = k_alike * std::max(quickest, k_least_seconds);
        const auto next = std::find_if(left.begin(), left.end(),
                                       [&](const CostlyConfig& one) { return one.compile_seconds <= limit; });
        order.push_back(std::move(next->config));
        left.erase(next);
    }
    return order;
}

void require_valid(const std::string& broken, const Config& config, const std::string& family) {
    if (broken.empty()) return;
    throw Error(ErrorKind::bad_input,
                fmt::format("the config {} is not valid for the family {}: {}", to_string(config), family, broken));
}

}  // namespace

SearchSpace SearchSpace::parse(const std::string& text, const std::string& file) {
    SpaceDefinition definition = read_space_definition(text, file);
    Schedule schedule = schedule_space(definition);
    SearchSpace space(std::make_unique<Impl>(std::move(definition), std::move(schedule)));
    for (const Problem& problem : probe_problems()) {
        Binding binding(space.impl_->definition, space.impl_->schedule, problem, probe_device());
        const auto plan_first = [&](const Config&) {
            (void)binding.plan();
            (void)binding.expectation();
            return false;
        };
        binding.walk(plan_first, k_probe_nodes);
    }
    return space;
}

SearchSpace::SearchSpace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SearchSpace::SearchSpace(SearchSpace&&) noexcept = default;
SearchSpace& SearchSpace::operator=(SearchSpace&&) noexcept = default;
SearchSpace::~SearchSpace() = default;

const std::string& SearchSpace::name() const {
    return impl_->definition.family;
}

const std::string& SearchSpace::template_file() const {
    return impl_->definition.template_file;
}

const std::string& SearchSpace::description() const {
    return impl_->definition.description;
}

bool SearchSpace::guesses_times() const {
    return !impl_->definition.time.names.empty();
}

const std::vector<Parameter>& SearchSpace::parameters() const {
    return impl_->definition.parameters;
}

std::string SearchSpace::refusal(const Problem& problem, const DeviceInfo& device) const {
    return BindingLoan(*impl_, problem, device)->refusal();
}

void SearchSpace::enumerate(const Problem& problem, const DeviceInfo& device,
                            const std::function<bool(const Config&)>& visit) const {
    BindingLoan(*impl_, problem, device)->walk(visit, std::numeric_limits<std::int64_t>::max());
}

std::optional<Config> SearchSpace::draw(const Problem& problem, const DeviceInfo& device,
                                        const std::function<std::uint64_t(std::uint64_t)>& below,
                                        const std::function<bool(const Config&)>& accept, const Demand& demand) const {
    return BindingLoan(*impl_, problem, device, demand)->draw(below, accept);
}

std::string SearchSpace::violation(const Problem& problem, const DeviceInfo& device, const Config& config,
                                   const Demand& demand) const {
    return BindingLoan(*impl_, problem, device, demand)->bind(config);
}

std::vector<Config> SearchSpace::defaults(const Problem& problem, const DeviceInfo& device,
                                          const Demand& demand) const {
    const BindingLoan binding(*impl_, problem, device, {demand.tolerance, demand.strict});
    std::vector<CostlyConfig> valid;
    for (const DefaultConfig& choice : impl_->definition.defaults) {
        if (binding->bind(choice.config).empty())
            valid.push_back({choice.config, binding->expectation().compile_seconds});
    }
    return costly_last(std::move(valid));
}

Expectation SearchSpace::expectation(const Problem& problem, const DeviceInfo& device, const Config& config) const {
    const BindingLoan binding(*impl_, problem, device);
    require_valid(binding->bind(config), config, name());
    return binding->expectation();
}

std::vector<Config> SearchSpace::neighbours(const Problem& problem, const DeviceInfo& device, const Config& config,
                                            const Demand& demand) const {
    const BindingLoan binding(*impl_, problem, device, demand);
    std::vector<Config> valid;
    for (const Parameter& parameter : parameters()) {
        const auto entry = config.find(parameter.name);
        if (entry == config.end()) continue;
        const auto at = std::find(parameter.values.begin(), parameter.values.end(), entry->second);
        if (at == parameter.values.end()) continue;
        Config neighbour = config;
        const auto add = [&](std::int64_t value) {
            neighbour[parameter.name] = value;
            if (binding->bind(neighbour).empty()) valid.push_back(neighbour);
        };
        if (at != parameter.values.begin()) add(*(at - 1));
        if (at + 1 != parameter.values.end()) add(*(at + 1));
    }
    return valid;
}

LaunchPlan SearchSpace::plan(const Problem& problem, const DeviceInfo& device, const Config& config) const {
    const BindingLoan binding(*impl_, problem, device);
    require_valid(binding->bind(config), config, name());
    return binding->plan();
}

Config SearchSpace::kernel_constants(const Problem& problem, const DeviceInfo& device, const Config& config) const {
    return plan(problem, device, config).constants;
}

}  // namespace tconv
