#include "device/driver/cuda_device.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "core/error.hpp"
#include "device/driver/context.hpp"
#include "device/driver/driver_library.hpp"
#include "device/driver/image.hpp"
#include "device/driver/recording.hpp"
#include "device/driver/tensor_map.hpp"
#include "device/driver/work_clock.hpp"

namespace tconv::cuda {
namespace {

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
        give_spare_back();
        in_context_quietly(*context_, [&] {
            clock_.reset();
            for (CUevent event : events_) {
                if (event != nullptr) calls().event_destroy(event);
            }
        });
    }

    const DeviceInfo& info() const override { return info_; }

    std::unique_ptr<Module> load(const CompiledCode& code) override;
    KernelResources resources(Module& module, const std::string& kernel, const LaunchGeometry& geometry) override;

    void copy_to_device(DevicePointer destination, const void* source, std::size_t bytes) override {
        if (bytes == 0) return;
        const Current current(*context_);
        begin_work();
        check(calls().copy_to_device(destination, source, bytes), "cuMemcpyHtoD", fmt::format("{} bytes", bytes));
    }

    void copy_to_host(void* destination, DevicePointer source, std::size_t bytes) override {
        if (bytes == 0) return;
        const Current current(*context_);
        if (clock_) clock_->mark_end();
        check(calls().copy_to_host(destination, source, bytes), "cuMemcpyDtoH", fmt::format("{} bytes", bytes));
        if (clock_) clock_->count();
    }

    void fill(DevicePointer destination, unsigned char value, std::size_t bytes) override {
        if (bytes == 0) return;
        const Current current(*context_);
        begin_work();
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
        if (clock_) clock_->mark_end();
        check(calls().synchronize(), "cuCtxSynchronize");
        if (clock_) clock_->count();
    }

    std::unique_ptr<Recording> record(const std::function<void(StreamHandle)>& work) override {
        const Current current(*context_);
        return std::make_unique<RecordingInContext>(context_, record_graph(work));
    }

    std::vector<double> time(int count, const std::function<void()>& before,
                             const std::function<void()>& work) override;

    void count_work() override {
        if (!clock_) clock_.emplace();
    }
    double seconds_at_work() const override { return clock_ ? clock_->seconds() : 0; }

private:
    void begin_work() {
        if (clock_) clock_->begin();
    }

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

    [[nodiscard]] double time_once(const std::function<void()>& before, const std::function<void()>& work);

    std::shared_ptr<const Context> context_;
    DeviceInfo info_;
    std::array<CUevent, 2> events_{};  // a sample's start and end
    std::optional<WorkClock> clock_;   // of the default stream
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
    if (stream == nullptr) begin_work();
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
    const Current current(*context_);
    for (CUevent& event : events_) {
        if (event == nullptr) check(calls().event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
    }
    std::vector<double> milliseconds;
    for (int i = 0; i < count; ++i)
        milliseconds.push_back(time_once(before, work));
    return milliseconds;
}

double CudaDevice::time_once(const std::function<void()>& before, const std::function<void()>& work) {
    const auto [start, end] = events_;
    begin_work();
    if (before) before();
    check(calls().event_record(start, nullptr), "cuEventRecord");
    work();
    check(calls().event_record(end, nullptr), "cuEventRecord");
    if (clock_) clock_->mark_end(end);
    check(calls().event_synchronize(end), "cuEventSynchronize");
    if (clock_) clock_->count();
    float elapsed = 0;
    check(calls().event_elapsed(&elapsed, start, end), "cuEventElapsedTime");
    return elapsed;
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
