#include "bench/cudnn/context.hpp"

#include <cuda.h>

#include "device/driver/driver_library.hpp"
#include "device/memory.hpp"

namespace tconv::cudnn {
namespace {

struct Calls {
    template <class Function>
    using Pointer = Function*;

    Pointer<decltype(cuPointerGetAttribute)> attribute =
        cuda::driver_function<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute");
    Pointer<decltype(cuCtxPushCurrent)> push = cuda::driver_function<decltype(cuCtxPushCurrent)>("cuCtxPushCurrent_v2");
    Pointer<decltype(cuCtxPopCurrent)> pop = cuda::driver_function<decltype(cuCtxPopCurrent)>("cuCtxPopCurrent_v2");
};

const Calls& calls() {
    static const Calls table;
    return table;
}

}  // namespace

Context::Context(Device& device) {
    const DeviceMemory probe(device, 256);
    cuda::check(calls().attribute(&handle_, CU_POINTER_ATTRIBUTE_CONTEXT, probe.address()), "cuPointerGetAttribute",
                "context");
}

Context::Current::Current(const Context& context) {
    if (context.handle_ == nullptr) return;
    cuda::check(calls().push(static_cast<CUcontext>(context.handle_)), "cuCtxPushCurrent");
    pushed_ = true;
}

Context::Current::~Current() {
    CUcontext ignored = nullptr;
    if (pushed_) calls().pop(&ignored);
}

}  // namespace tconv::cudnn
