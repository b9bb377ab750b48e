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
    if (impl_->problem.batch == 0) return;
    require(tensors.input != nullptr, "input is null");
    require(tensors.weight != nullptr, "weight is null");
    require(tensors.output != nullptr, "output is null");
    require(!impl_->problem.bias || tensors.bias != nullptr, "bias is null, and the problem has one");
    require(impl_->problem.bias || tensors.bias == nullptr, "bias is given, and the problem has none");
    if (tensors.workspace == nullptr && workspace_bytes() > 0)
        throw Error(ErrorKind::bad_input,
                    fmt::format("workspace is null, and the kernel needs {} bytes", workspace_bytes()));

    const CallTensors call{address(tensors.input),  address(tensors.weight),    address(tensors.bias),
                           address(tensors.output), address(tensors.workspace), stream};
    const LoadedKernel& loaded = kernel_for(*impl_->loaded, call);
    if (workspace_for(loaded.plan, impl_->problem.batch) > 0)
        require_aligned(call.workspace, tconv::workspace_alignment(loaded.plan), "workspace");
    const auto lock = loaded.device->lock();
    launch_plan(loaded.device->device(), *loaded.module, loaded.plan, impl_->problem.batch, call);
}

Rung Kernel::rung() const {
    return impl_->loaded->rung;
}

std::int64_t Kernel::workspace_bytes() const {
    return workspace_for(impl_->loaded->plan, impl_->problem.batch);
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
