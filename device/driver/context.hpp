#pragma once

#include <cuda.h>
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "device/driver/driver_library.hpp"

namespace tconv::cuda {

// Names are versioned by hand where cuda.h maps the plain name to a newer entry: what an older driver exports is asked
// for, so that one binary runs with both.
struct Calls {
    template <class Function>
    using Pointer = Function*;

#define TCONV_DRIVER_CALL(member, type, name) Pointer<decltype(type)> member = driver_function<decltype(type)>(name)
    TCONV_DRIVER_CALL(device_get, cuDeviceGet, "cuDeviceGet");
    TCONV_DRIVER_CALL(primary_retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    TCONV_DRIVER_CALL(primary_release, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
    TCONV_DRIVER_CALL(get_current, cuCtxGetCurrent, "cuCtxGetCurrent");
    TCONV_DRIVER_CALL(get_device, cuCtxGetDevice, "cuCtxGetDevice");
    TCONV_DRIVER_CALL(push, cuCtxPushCurrent, "cuCtxPushCurrent_v2");
    TCONV_DRIVER_CALL(pop, cuCtxPopCurrent, "cuCtxPopCurrent_v2");
    TCONV_DRIVER_CALL(synchronize, cuCtxSynchronize, "cuCtxSynchronize");
    TCONV_DRIVER_CALL(module_load, cuModuleLoadDataEx, "cuModuleLoadDataEx");
    TCONV_DRIVER_CALL(module_unload, cuModuleUnload, "cuModuleUnload");
    TCONV_DRIVER_CALL(module_function, cuModuleGetFunction, "cuModuleGetFunction");
    TCONV_DRIVER_CALL(function_attribute, cuFuncGetAttribute, "cuFuncGetAttribute");
    TCONV_DRIVER_CALL(set_function_attribute, cuFuncSetAttribute, "cuFuncSetAttribute");
    TCONV_DRIVER_CALL(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,
                      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    TCONV_DRIVER_CALL(allocate, cuMemAlloc, "cuMemAlloc_v2");
    TCONV_DRIVER_CALL(free, cuMemFree, "cuMemFree_v2");
    TCONV_DRIVER_CALL(copy_to_device, cuMemcpyHtoD, "cuMemcpyHtoD_v2");
    TCONV_DRIVER_CALL(copy_to_host, cuMemcpyDtoH, "cuMemcpyDtoH_v2");
    TCONV_DRIVER_CALL(fill, cuMemsetD8Async, "cuMemsetD8Async");
    TCONV_DRIVER_CALL(launch, cuLaunchKernel, "cuLaunchKernel");
    TCONV_DRIVER_CALL(launch_with, cuLaunchKernelEx, "cuLaunchKernelEx");
    TCONV_DRIVER_CALL(event_create, cuEventCreate, "cuEventCreate");
    TCONV_DRIVER_CALL(event_destroy, cuEventDestroy, "cuEventDestroy_v2");
    TCONV_DRIVER_CALL(event_record, cuEventRecord, "cuEventRecord");
    TCONV_DRIVER_CALL(event_synchronize, cuEventSynchronize, "cuEventSynchronize");
    TCONV_DRIVER_CALL(event_elapsed, cuEventElapsedTime, "cuEventElapsedTime");
#undef TCONV_DRIVER_CALL
};

inline const Calls& calls() {
    static const Calls table;
    return table;
}

// A context, released at the end where it is ours. Modules share it, so that it outlives them.
class Context {
public:
    [[nodiscard]] static std::shared_ptr<const Context> primary(int ordinal) {
        CUdevice device = 0;
        check(calls().device_get(&device, ordinal), "cuDeviceGet", fmt::format("cuda:{}", ordinal));
        CUcontext context = nullptr;
        check(calls().primary_retain(&context, device), "cuDevicePrimaryCtxRetain", fmt::format("cuda:{}", ordinal));
        return std::make_shared<const Context>(context, device, true);
    }

    Context(CUcontext handle, CUdevice device, bool owned) : handle_(handle), device_(device), owned_(owned) {}
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() {
        if (owned_) calls().primary_release(device_);
    }

    [[nodiscard]] CUcontext handle() const { return handle_; }

private:
    CUcontext handle_;
    CUdevice device_;
    bool owned_;
};

// Makes the context current for one call and puts the caller's own back.
class Current {
public:
    explicit Current(const Context& context) {
        CUcontext current = nullptr;
        check(calls().get_current(&current), "cuCtxGetCurrent");
        if (current == context.handle()) return;
        check(calls().push(context.handle()), "cuCtxPushCurrent");
        pushed_ = true;
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current() {
        CUcontext ignored = nullptr;
        if (pushed_) calls().pop(&ignored);
    }

private:
    bool pushed_ = false;
};

// Runs a clean-up in the context, ignoring every failure: after a sticky error or at the end of the process the driver
// has already let go of everything.
template <class Action>
void in_context_quietly(const Context& context, Action&& action) noexcept {
    CUcontext current = nullptr;
    if (calls().get_current(&current) != CUDA_SUCCESS) return;
    const bool push = current != context.handle();
    if (push && calls().push(context.handle()) != CUDA_SUCCESS) return;
    action();
    if (push) calls().pop(&current);
}

}  // namespace tconv::cuda
