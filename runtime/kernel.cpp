#include "runtime/kernel.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "device/launch.hpp"

namespace tconv {
namespace {

DevicePointer address(const void* pointer) {
    return static_cast<DevicePointer>(reinterpret_cast<std::uintptr_t>(pointer));
}

void require(bool condition, const char* sentence) {
    if (!condition) throw Error(ErrorKind::bad_input, sentence);
}

void require_aligned(DevicePointer pointer, std::int64_t alignment, const char* name) {
    if (pointer % static_cast<DevicePointer>(alignment) == 0) return;
    throw Error(ErrorKind::bad_input,
                fmt::format("the address of {} (0x{:x}) must be a multiple of {} bytes", name, pointer, alignment));
}

/// The kernel itself, or what serves tensors less aligned than its plan asks for.
const LoadedKernel& kernel_for(const LoadedKernel& loaded, const CallTensors& call) {
    const auto mask = static_cast<DevicePointer>(loaded.plan.alignment - 1);
    if (((call.input | call.weight | call.bias | call.output) & mask) == 0) return loaded;
    if (loaded.for_unaligned != nullptr) return kernel_for(*loaded.for_unaligned, call);
    require_aligned(call.input, loaded.plan.alignment, "input");
    require_aligned(call.weight, loaded.plan.alignment, "weight");
    require_aligned(call.bias, loaded.plan.alignment, "bias");
    require_aligned(call.output, loaded.plan.alignment, "output");
    return loaded;
}

/// Where a call's workspace holds the packed weights that the call makes for itself.
std::int64_t packed_offset(const LaunchPlan& plan, std::int64_t batch) {
    const std::int64_t step = workspace_alignment(plan);
    return (workspace_for(plan, batch) + step - 1) / step * step;
}

}  // namespace

std::shared_ptr<const LoadedKernel> empty_kernel() {
    auto kernel = std::make_shared<LoadedKernel>();
    kernel->description = "nothing to do: the batch is 0";
    return kernel;
}

Kernel::Kernel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;
Kernel::~Kernel() = default;

void Kernel::launch(const Tensors& tensors, void* stream) const {
    launch(tensors, nullptr, stream);
}

void Kernel::launch(const Tensors& tensors, const PreparedWeights& weights, void* stream) const {
    if (impl_->problem.batch == 0) return;
    require(weights.made_for_ == impl_->loaded, "the prepared weights were made by another kernel");
    launch(tensors, weights.packed_, stream);
}

PreparedWeights Kernel::prepare(const void* weight, void* packed, void* stream) const {
    const LoadedKernel& loaded = *impl_->loaded;
    PreparedWeights weights;
    weights.made_for_ = impl_->loaded;
    if (loaded.plan.packed_weight_bytes == 0) return weights;
    require(weight != nullptr, "weight is null");
    require(packed != nullptr, "the memory for packed weights is null");
    CallTensors call;
    call.weight = address(weight);
    call.packed_weight = address(packed);
    call.stream = stream;
    require_aligned(call.weight, loaded.plan.alignment, "weight");
    require_aligned(call.packed_weight, tconv::workspace_alignment(loaded.plan), "the packed weights");
    weights.packed_ = packed;
    const auto lock = loaded.device->lock();
    launch_plan(loaded.device->device(), *loaded.module, loaded.plan, impl_->problem.batch, call,
                PlanPart::weights_only);
    return weights;
}

// Without packed weights they are made anew, behind the rest of the workspace.
void Kernel::launch(const Tensors& tensors, void* packed, void* stream) const {
    if (impl_->problem.batch == 0) return;
    require(tensors.input != nullptr, "input is null");
    require(tensors.weight != nullptr, "weight is null");
    require(tensors.output != nullptr, "output is null");
    require(!impl_->problem.bias || tensors.bias != nullptr, "bias is null, and the problem has one");
    require(impl_->problem.bias || tensors.bias == nullptr, "bias is given, and the problem has none");
    const std::int64_t needed = packed != nullptr ? workspace_bytes_prepared() : workspace_bytes();
    if (tensors.workspace == nullptr && needed > 0)
        throw Error(ErrorKind::bad_input, fmt::format("workspace is null, and the kernel needs {} bytes", needed));

    CallTensors call{address(tensors.input),
                     address(tensors.weight),
                     address(tensors.bias),
                     address(tensors.output),
                     address(tensors.workspace),
                     address(packed),
                     stream};
    const LoadedKernel& loaded = kernel_for(*impl_->loaded, call);
    const std::int64_t batch = impl_->problem.batch;
    if (workspace_for(loaded.plan, batch) > 0 || (packed == nullptr && loaded.plan.packed_weight_bytes > 0))
        require_aligned(call.workspace, tconv::workspace_alignment(loaded.plan), "workspace");
    if (packed == nullptr)
        call.packed_weight = call.workspace + static_cast<DevicePointer>(packed_offset(loaded.plan, batch));
    const auto lock = loaded.device->lock();
    launch_plan(loaded.device->device(), *loaded.module, loaded.plan, batch, call,
                packed != nullptr ? PlanPart::call : PlanPart::all);
}

Rung Kernel::rung() const {
    return impl_->loaded->rung;
}

std::int64_t Kernel::workspace_bytes() const {
    const LaunchPlan& plan = impl_->loaded->plan;
    if (plan.packed_weight_bytes == 0) return workspace_bytes_prepared();
    return packed_offset(plan, impl_->problem.batch) + plan.packed_weight_bytes;
}

std::int64_t Kernel::workspace_bytes_prepared() const {
    return workspace_for(impl_->loaded->plan, impl_->problem.batch);
}

std::int64_t Kernel::packed_weight_bytes() const {
    return impl_->loaded->plan.packed_weight_bytes;
}

std::int64_t Kernel::alignment() const {
    return impl_->loaded->plan.alignment;
}

std::int64_t Kernel::workspace_alignment() const {
    return tconv::workspace_alignment(impl_->loaded->plan);
}

const Problem& Kernel::problem() const {
    return impl_->problem;
}

const std::string& Kernel::description() const {
    return impl_->loaded->description;
}

const std::string& Kernel::warnings() const {
    return impl_->loaded->warnings;
}

}  // namespace tconv
