#include "bench/cudnn/plan.hpp"

#include <cudnn_graph.h>

namespace tconv::cudnn {
namespace {

void* as_pointer(DevicePointer address) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

Descriptor make_addresses(const Library& library, const PlanTensors& tensors) {
    std::vector<std::int64_t> ids{k_input, k_weight, k_output};
    std::vector<void*> addresses{as_pointer(tensors.input), as_pointer(tensors.weight), as_pointer(tensors.output)};
    if (tensors.bias != 0) {
        ids.push_back(k_bias);
        addresses.push_back(as_pointer(tensors.bias));
    }
    Descriptor pack(library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "variant pack");
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, as_pointer(tensors.workspace));
    pack.finalize();
    return pack;
}

}  // namespace

Plan::Plan(const Library& library, void* handle, [[maybe_unused]] const Descriptor* device_properties,
           const EngineConfig& config)
    : library_(library), plan_(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "execution plan") {
    if (handle != nullptr) plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
#if CUDNN_VERSION >= 90800
    if (device_properties != nullptr)
        plan_.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, *device_properties);
#endif
    plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, *config.config);
    plan_.finalize();
    for (const std::int64_t bytes :
         plan_.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1))
        workspace_bytes_ = bytes;
}

void Plan::execute(void* handle, const PlanTensors& tensors) {
    if (!addresses_ || !(tensors == tensors_)) {
        addresses_.reset();
        addresses_.emplace(make_addresses(library_, tensors));
        tensors_ = tensors;
    }
    library_.execute(handle, plan_.raw(), addresses_->raw());
}

}  // namespace tconv::cudnn
