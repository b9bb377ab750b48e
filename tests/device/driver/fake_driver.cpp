// The entry points of the CUDA driver that tconv uses. Every call answers 0 unless FAKE_CUDA_<function> holds another
// code; calls are written to a log that fake_driver_log() returns.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string log_text;
CUcontext current = nullptr;

int setting(const std::string& name, int fallback) {
    const char* value = std::getenv(("FAKE_CUDA_" + name).c_str());
    return value == nullptr ? fallback : std::atoi(value);
}

CUresult answer(const char* call) {
    log_text += std::string(call) + "\n";
    return static_cast<CUresult>(setting(call, 0));
}

template <class Handle>
Handle handle(std::uintptr_t value) {
    return reinterpret_cast<Handle>(value);
}

}  // namespace

extern "C" {

const char* fake_driver_log() {
    return log_text.c_str();
}
void fake_driver_set_current(void* context) {
    current = static_cast<CUcontext>(context);
}
void* fake_driver_current() {
    return current;
}

CUresult cuInit(unsigned) {
    return answer("cuInit");
}
CUresult cuDriverGetVersion(int* version) {
    *version = setting("version", 12040);
    return answer("cuDriverGetVersion");
}
CUresult cuGetErrorName(CUresult error, const char** name) {
    *name = error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
            : error == CUDA_ERROR_NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
                                              : nullptr;
    return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
    *text = error == CUDA_ERROR_INVALID_VALUE ? "invalid argument"
            : error == CUDA_ERROR_NO_DEVICE   ? "no CUDA-capable device is detected"
                                              : nullptr;
    return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
    *count = setting("devices", 1);
    return answer("cuDeviceGetCount");
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    *device = ordinal;
    return answer("cuDeviceGet");
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
    std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
    return answer("cuDeviceGetName");
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
    *value = 1000 + static_cast<int>(attribute);
    return answer("cuDeviceGetAttribute");
}
CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", 0x1b + device);
    return answer("cuDeviceGetPCIBusId");
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
    *bytes = std::size_t{1} << 33;
    return answer("cuDeviceTotalMem");
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    *context = handle<CUcontext>(0x100);
    return answer("cuDevicePrimaryCtxRetain");
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
    return answer("cuDevicePrimaryCtxRelease");
}
CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = current;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
    *device = 0;
    return answer("cuCtxGetDevice");
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
    current = context;
    return answer("cuCtxPushCurrent");
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    *context = current;
    current = nullptr;
    return answer("cuCtxPopCurrent");
}
CUresult cuCtxSynchronize() {
    return answer("cuCtxSynchronize");
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*, void** values) {
    *module = handle<CUmodule>(0x200);
    const CUresult result = answer("cuModuleLoadDataEx");
    if (result != CUDA_SUCCESS) std::strcpy(static_cast<char*>(values[0]), "ptxas said no");
    return result;
}
CUresult cuModuleUnload(CUmodule) {
    return answer("cuModuleUnload");
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
    *function = handle<CUfunction>(0x300);
    return answer("cuModuleGetFunction");
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
    *value = attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? 1024 : 32;
    return answer("cuFuncGetAttribute");
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
    return answer("cuFuncSetAttribute");
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
    *blocks = 4;
    return answer("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}
CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t) {
    static CUdeviceptr next = 0x10000;
    *pointer = next;
    next += 0x100000;
    return answer("cuMemAlloc");
}
CUresult cuMemFree_v2(CUdeviceptr) {
    return answer("cuMemFree");
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void*, std::size_t) {
    return answer("cuMemcpyHtoD");
}
CUresult cuMemcpyDtoH_v2(void*, CUdeviceptr, std::size_t) {
    return answer("cuMemcpyDtoH");
}
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, std::size_t, CUstream) {
    return answer("cuMemsetD8Async");
}
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                        void**, void**) {
    return answer("cuLaunchKernel");
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void**, void**) {
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const CUlaunchAttribute& attribute = config->attrs[i];
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
            attribute.value.programmaticStreamSerializationAllowed == 1)
            log_text += "overlap\n";
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            const auto& cluster = attribute.value.clusterDim;
            log_text += "cluster " + std::to_string(cluster.x) + "x" + std::to_string(cluster.y) + "x" +
                        std::to_string(cluster.z) + "\n";
        }
    }
    return answer("cuLaunchKernelEx");
}
#ifndef FAKE_OLD_DRIVER
// The map's words tell what was asked for: type, rank, address, extents, strides, box, swizzle, promotion.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
    cuuint64_t* word = map->opaque;
    *word++ = type;
    *word++ = rank;
    *word++ = reinterpret_cast<std::uintptr_t>(address);
    for (cuuint32_t i = 0; i < rank; ++i)
        *word++ = extents[i];
    for (cuuint32_t i = 0; i + 1 < rank; ++i)
        *word++ = strides[i];
    for (cuuint32_t i = 0; i < rank; ++i)
        *word++ = box[i] * element_strides[i];
    *word++ = swizzle;
    *word++ = promotion;
    *word++ = 100 + interleave + fill;
    return answer("cuTensorMapEncodeTiled");
}
#endif
CUresult cuEventCreate(CUevent* event, unsigned) {
    static std::uintptr_t next = 0x400;
    *event = handle<CUevent>(next++);
    return answer("cuEventCreate");
}
CUresult cuEventDestroy_v2(CUevent) {
    return answer("cuEventDestroy");
}
CUresult cuEventRecord(CUevent, CUstream) {
    return answer("cuEventRecord");
}
CUresult cuEventSynchronize(CUevent) {
    return answer("cuEventSynchronize");
}
// Under its first name, which the toolkit's header may map to a newer one.
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
    *milliseconds = 0.5F;
    return answer("cuEventElapsedTime");
}

}  // extern "C"
