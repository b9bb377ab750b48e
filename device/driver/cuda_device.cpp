#include "device/driver/cuda_device.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#include "core/error.hpp"
#include "device/driver/driver_library.hpp"
#include "device/driver/image.hpp"
#include "device/driver/recording.hpp"
#include "device/driver/tensor_map.hpp"

namespace tconv::cuda {
namespace {

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

const Calls& calls() {
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

unsigned checked_extent(std::int64_t value, const char* what, const std::string& kernel) {
    if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) {
        throw Error(ErrorKind::device, fmt::format("{}: {} ({}) is outside 0..2147483647", kernel, what, value));
    }
    return static_cast<unsigned>(value);
}

class CudaModule final : public Module {
public:
    CudaModule(std::shared_ptr<const Context> context, CUmodule handle)
        : context_(std::move(context)), handle_(handle) {}
    ~CudaModule() override {
        in_context_quietly(*context_, [&] { calls().module_unload(handle_); });
    }

    // The entry, ready for a launch with `shared_bytes` of dynamic shared memory. The context must be current.
    CUfunction function(const std::string& kernel, std::int64_t shared_bytes) {
        const std::lock_guard lock(mutex_);
        auto found = functions_.find(kernel);
        if (found == functions_.end()) {
            CUfunction handle = nullptr;
            check(calls().module_function(&handle, handle_, kernel.c_str()), "cuModuleGetFunction", kernel);
            int static_shared = 0;
            check(calls().function_attribute(&static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, handle),
                  "cuFuncGetAttribute", kernel);
            found = functions_.emplace(kernel, Entry{handle, k_shared_unasked - static_shared}).first;
        }
        Entry& entry = found->second;
        if (shared_bytes > entry.allowed_shared) {
            check(calls().set_function_attribute(
                      entry.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                      static_cast<int>(checked_extent(shared_bytes, "dynamic shared memory", kernel))),
                  "cuFuncSetAttribute", fmt::format("{}, {} bytes of dynamic shared memory", kernel, shared_bytes));
            entry.allowed_shared = shared_bytes;
        }
        return entry.handle;
    }

private:
    // Static and dynamic shared memory together that every device allows unasked.
    static constexpr std::int64_t k_shared_unasked = 48 * 1024;

    struct Entry {
        CUfunction handle;
        std::int64_t allowed_shared;  // dynamic
    };

    std::shared_ptr<const Context> context_;
    CUmodule handle_;
    std::mutex mutex_;
    std::map<std::string, Entry, std::less<>> functions_;
};

class RecordingInContext final : public Recording {
public:
    RecordingInContext(std::shared_ptr<const Context> context, std::unique_ptr<Recording> recording)
        : context_(std::move(context)), recording_(std::move(recording)) {}
    ~RecordingInContext() override {
        in_context_quietly(*context_, [&] { recording_.reset(); });
    }
    void replay() override {
        const Current current(*context_);
        recording_->replay();
    }

private:
    std::shared_ptr<const Context> context_;
    std::unique_ptr<Recording> recording_;
};

class CudaDevice final : public Device {
public:
    CudaDevice(std::shared_ptr<const Context> context, DeviceInfo info)
        : context_(std::move(context)), info_(std::move(info)) {}
    ~CudaDevice() override {
        in_context_quietly(*context_, [&] {
            for (CUevent event : events_)
                calls().event_destroy(event);
        });
    }

    const DeviceInfo& info() const override { return info_; }

    std::unique_ptr<Module> load(const CompiledCode& code) override;
    KernelResources resources(Module& module, const std::string& kernel, const LaunchGeometry& geometry) override;

    void copy_to_device(DevicePointer destination, const void* source, std::size_t bytes) override {
        if (bytes == 0) return;
        const Current current(*context_);
        check(calls().copy_to_device(destination, source, bytes), "cuMemcpyHtoD", fmt::format("{} bytes", bytes));
    }

    void copy_to_host(void* destination, DevicePointer source, std::size_t bytes) override {
        if (bytes == 0) return;
        const Current current(*context_);
        check(calls().copy_to_host(destination, source, bytes), "cuMemcpyDtoH", fmt::format("{} bytes", bytes));
    }

    void fill(DevicePointer destination, unsigned char value, std::size_t bytes) override {
        if (bytes == 0) return;
        const Current current(*context_);
        check(calls().fill(destination, value, bytes, nullptr), "cuMemsetD8Async", fmt::format("{} bytes", bytes));
    }

    EncodedTensorMap encode(const TensorMap& map, std::int64_t batch, DevicePointer address) override {
        const Current current(*context_);
        return encode_tensor_map(map, batch, address);
    }

    void launch(Module& module, const std::string& kernel, const LaunchGeometry& geometry, void** arguments,
                StreamHandle stream) override;

    void synchronize() override {
        const Current current(*context_);
        check(calls().synchronize(), "cuCtxSynchronize");
    }

    std::unique_ptr<Recording> record(const std::function<void(StreamHandle)>& work) override {
        const Current current(*context_);
        return std::make_unique<RecordingInContext>(context_, record_graph(work));
    }

    std::vector<double> time(int count, const std::function<void()>& before,
                             const std::function<void()>& work) override;

private:
    DevicePointer take_memory(std::size_t bytes) override {
        const Current current(*context_);
        CUdeviceptr pointer = 0;
        const CUresult result = calls().allocate(&pointer, bytes);
        if (result == CUDA_ERROR_OUT_OF_MEMORY)
            throw OutOfDeviceMemory(fmt::format("cuMemAlloc({} bytes): {}", bytes, error_text(result)));
        check(result, "cuMemAlloc", fmt::format("{} bytes", bytes));
        return pointer;
    }
    void give_memory_back(DevicePointer pointer) noexcept override {
        in_context_quietly(*context_, [&] { calls().free(pointer); });
    }

    void time_batch(int count, const std::function<void()>& before, const std::function<void()>& work,
                    std::vector<double>& milliseconds);

    std::shared_ptr<const Context> context_;
    DeviceInfo info_;
    std::vector<CUevent> events_;
};

std::unique_ptr<Module> CudaDevice::load(const CompiledCode& code) {
    check_image(code.code);
    const Current current(*context_);
    std::vector<char> log(8192, '\0');
    std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
    CUmodule handle = nullptr;
    const CUresult result =
        calls().module_load(&handle, code.code.c_str(), options.size(), options.data(), values.data());
    if (result != CUDA_SUCCESS) {
        const std::string said(log.data());
        throw Error(ErrorKind::device,
                    fmt::format("cuModuleLoadDataEx: {}{}{}", error_text(result), said.empty() ? "" : ": ", said));
    }
    return std::make_unique<CudaModule>(context_, handle);
}

KernelResources CudaDevice::resources(Module& module, const std::string& kernel, const LaunchGeometry& geometry) {
    const Current current(*context_);
    const CUfunction function = static_cast<CudaModule&>(module).function(kernel, geometry.shared_bytes);
    const auto attribute = [&](CUfunction_attribute which) {
        int value = 0;
        check(calls().function_attribute(&value, which, function), "cuFuncGetAttribute", kernel);
        return value;
    };
    KernelResources resources;
    resources.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
    resources.static_shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    resources.local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    const std::int64_t threads = geometry.block[0] * geometry.block[1] * geometry.block[2];
    check(calls().occupancy(&resources.blocks_per_multiprocessor, function,
                            static_cast<int>(checked_extent(threads, "block size", kernel)),
                            static_cast<std::size_t>(geometry.shared_bytes)),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor", kernel);
    return resources;
}

void CudaDevice::launch(Module& module, const std::string& kernel, const LaunchGeometry& geometry, void** arguments,
                        StreamHandle stream) {
    const Current current(*context_);
    const CUfunction function = static_cast<CudaModule&>(module).function(kernel, geometry.shared_bytes);
    CUlaunchConfig config{};
    config.gridDimX = checked_extent(geometry.grid[0], "grid x", kernel);
    config.gridDimY = checked_extent(geometry.grid[1], "grid y", kernel);
    config.gridDimZ = checked_extent(geometry.grid[2], "grid z", kernel);
    config.blockDimX = checked_extent(geometry.block[0], "block x", kernel);
    config.blockDimY = checked_extent(geometry.block[1], "block y", kernel);
    config.blockDimZ = checked_extent(geometry.block[2], "block z", kernel);
    config.sharedMemBytes = checked_extent(geometry.shared_bytes, "dynamic shared memory", kernel);
    config.hStream = static_cast<CUstream>(stream);
    std::array<CUlaunchAttribute, 2> attributes{};
    config.attrs = attributes.data();
    if (geometry.overlaps && calls().launch_with) {
        CUlaunchAttribute& overlap = attributes[config.numAttrs++];
        overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        overlap.value.programmaticStreamSerializationAllowed = 1;
    }
    if (geometry.cluster > 1) {
        if (!calls().launch_with)
            throw Error(ErrorKind::unavailable,
                        kernel + " runs in clusters of blocks, which this driver does not know");
        CUlaunchAttribute& cluster = attributes[config.numAttrs++];
        cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        cluster.value.clusterDim.x = checked_extent(geometry.cluster, "cluster", kernel);
        cluster.value.clusterDim.y = 1;
        cluster.value.clusterDim.z = 1;
    }
    if (config.numAttrs > 0) {
        check(calls().launch_with(&config, function, arguments, nullptr), "cuLaunchKernelEx", kernel);
        return;
    }
    check(calls().launch(function, config.gridDimX, config.gridDimY, config.gridDimZ, config.blockDimX,
                         config.blockDimY, config.blockDimZ, config.sharedMemBytes, config.hStream, arguments, nullptr),
          "cuLaunchKernel", kernel);
}

std::vector<double> CudaDevice::time(int count, const std::function<void()>& before,
                                     const std::function<void()>& work) {
    // A batch fits the driver's launch queue; a longer one would make the host wait in the middle of a sample.
    constexpr int k_batch = 64;
    const Current current(*context_);
    std::vector<double> milliseconds;
    for (int done = 0; done < count; done += k_batch)
        time_batch(std::min(k_batch, count - done), before, work, milliseconds);
    return milliseconds;
}

void CudaDevice::time_batch(int count, const std::function<void()>& before, const std::function<void()>& work,
                            std::vector<double>& milliseconds) {
    const auto needed = static_cast<std::size_t>(count) * 2;
    while (events_.size() < needed) {
        CUevent event = nullptr;
        check(calls().event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
        events_.push_back(event);
    }
    for (std::size_t i = 0; i < needed; i += 2) {
        if (before) before();
        check(calls().event_record(events_[i], nullptr), "cuEventRecord");
        work();
        check(calls().event_record(events_[i + 1], nullptr), "cuEventRecord");
    }
    check(calls().event_synchronize(events_[needed - 1]), "cuEventSynchronize");
    for (std::size_t i = 0; i < needed; i += 2) {
        float elapsed = 0;
        check(calls().event_elapsed(&elapsed, events_[i], events_[i + 1]), "cuEventElapsedTime");
        milliseconds.push_back(elapsed);
    }
}

}  // namespace

std::unique_ptr<Device> open_primary(int ordinal) {
    return std::make_unique<CudaDevice>(Context::primary(ordinal), query_device(ordinal));
}

std::unique_ptr<Device> open_current() {
    CUcontext context = nullptr;
    check(calls().get_current(&context), "cuCtxGetCurrent");
    if (context == nullptr) return nullptr;
    CUdevice device = 0;
    check(calls().get_device(&device), "cuCtxGetDevice");
    return std::make_unique<CudaDevice>(std::make_shared<const Context>(context, device, false), query_device(device));
}

}  // namespace tconv::cuda
