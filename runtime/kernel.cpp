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

    const LoadedKernel& loaded = *impl_->loaded;
    const CallTensors call{address(tensors.input),  address(tensors.weight),    address(tensors.bias),
                           address(tensors.output), address(tensors.workspace), stream};
    const auto lock = loaded.device->lock();
    launch_plan(loaded.device->device(), *loaded.module, loaded.plan, impl_->problem.batch, call);
}

Rung Kernel::rung() const {
    return impl_->loaded->rung;
}

std::int64_t Kernel::workspace_bytes() const {
    return workspace_for(impl_->loaded->plan, impl_->problem.batch);
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
