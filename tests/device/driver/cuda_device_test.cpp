#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "device/driver/driver.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/device/driver/require_gpu.hpp"
#include "tests/support/contains.hpp"

namespace {

using namespace tconv;

constexpr const char* k_source = R"(
extern "C" __global__ void add(int* data, int value, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += value;
}
extern "C" __global__ void through_shared(int* data) {
    extern __shared__ int room[];
    room[threadIdx.x + 20000] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x + 20000];
}
)";

struct Gpu {
    std::unique_ptr<Device> device;
    std::unique_ptr<Module> module;
};

Gpu open_gpu() {
    require_gpu();
    Gpu gpu;
    gpu.device = open_cuda_device(0);
    CompileRequest request;
    request.name = "test.cu";
    request.source = k_source;
    request.architecture = architecture_of(gpu.device->info());
    const CompileResult compiled = make_nvrtc_compiler()->compile(request);
    INFO(compiled.log);
    REQUIRE(compiled.ok);
    gpu.module = gpu.device->load(compiled.code);
    return gpu;
}

void launch_add(const Gpu& gpu, DevicePointer data, int value, int count, StreamHandle stream = nullptr) {
    LaunchGeometry geometry;
    geometry.grid = {(count + 255) / 256, 1, 1};
    geometry.block = {256, 1, 1};
    void* arguments[] = {&data, &value, &count};
    gpu.device->launch(*gpu.module, "add", geometry, arguments, stream);
}

}  // namespace

TEST_CASE("a kernel runs on what was copied") {
    const Gpu gpu = open_gpu();
    const int count = 1000;
    std::vector<int> host(count, 5);
    const DevicePointer data = gpu.device->allocate(count * sizeof(int));
    gpu.device->copy_to_device(data, host.data(), count * sizeof(int));
    launch_add(gpu, data, 37, count);
    gpu.device->copy_to_host(host.data(), data, count * sizeof(int));
    CHECK(host == std::vector<int>(count, 42));
    gpu.device->fill(data, 0xff, count * sizeof(int));
    gpu.device->copy_to_host(host.data(), data, count * sizeof(int));
    CHECK(host == std::vector<int>(count, -1));
    gpu.device->release(data);
}

TEST_CASE("recorded work runs at each replay and not before, in order with the default stream") {
    const Gpu gpu = open_gpu();
    const int count = 1000;
    const DevicePointer data = gpu.device->allocate(count * sizeof(int));
    gpu.device->fill(data, 0, count * sizeof(int));
    const auto recording = gpu.device->record([&](StreamHandle stream) {
        launch_add(gpu, data, 3, count, stream);
        launch_add(gpu, data, 4, count, stream);
    });
    std::vector<int> host(count);
    gpu.device->copy_to_host(host.data(), data, count * sizeof(int));
    CHECK(host == std::vector<int>(count, 0));
    recording->replay();
    launch_add(gpu, data, 100, count);
    recording->replay();
    gpu.device->copy_to_host(host.data(), data, count * sizeof(int));
    CHECK(host == std::vector<int>(count, 114));
    gpu.device->release(data);
}

TEST_CASE("work that cannot be recorded is an error, and the device goes on") {
    const Gpu gpu = open_gpu();
    const auto fails = [](StreamHandle) { throw Error(ErrorKind::device, "not this one"); };
    CHECK_THROWS_WITH(gpu.device->record(fails), contains("not this one"));
    const auto waits = [&](StreamHandle stream) {
        const DevicePointer data = gpu.device->allocate(4);
        launch_add(gpu, data, 1, 1, stream);
        gpu.device->synchronize();  // forbidden while a stream is captured
    };
    CHECK_THROWS_AS(gpu.device->record(waits), Error);
    const DevicePointer data = gpu.device->allocate(sizeof(int));
    const int five = 5;
    gpu.device->copy_to_device(data, &five, sizeof five);
    launch_add(gpu, data, 37, 1);
    int host = 0;
    gpu.device->copy_to_host(&host, data, sizeof host);
    CHECK(host == 42);
    gpu.device->release(data);
}

TEST_CASE("dynamic shared memory above 48 KB works") {
    const Gpu gpu = open_gpu();
    std::vector<int> host{0, 1, 2, 3, 4, 5, 6, 7};
    const DevicePointer data = gpu.device->allocate(sizeof(int) * 8);
    gpu.device->copy_to_device(data, host.data(), sizeof(int) * 8);
    LaunchGeometry geometry;
    geometry.block = {8, 1, 1};
    geometry.shared_bytes = 20008 * sizeof(int);
    DevicePointer argument = data;
    void* arguments[] = {&argument};
    CHECK(gpu.device->resources(*gpu.module, "through_shared", geometry).blocks_per_multiprocessor >= 1);
    gpu.device->launch(*gpu.module, "through_shared", geometry, arguments, nullptr);
    gpu.device->copy_to_host(host.data(), data, sizeof(int) * 8);
    CHECK(host == std::vector<int>{7, 6, 5, 4, 3, 2, 1, 0});
    gpu.device->release(data);

    geometry.shared_bytes = gpu.device->info().shared_memory_per_block + 1;
    CHECK_THROWS_AS(gpu.device->launch(*gpu.module, "through_shared", geometry, arguments, nullptr), Error);
}

TEST_CASE("resources are those of the kernel, a missing entry is an error") {
    const Gpu gpu = open_gpu();
    LaunchGeometry geometry;
    geometry.block = {256, 1, 1};
    const KernelResources resources = gpu.device->resources(*gpu.module, "add", geometry);
    CHECK(resources.registers > 0);
    CHECK(resources.static_shared_bytes == 0);
    CHECK(resources.blocks_per_multiprocessor >= 4);
    CHECK_THROWS_AS(gpu.device->resources(*gpu.module, "absent", geometry), Error);
}

TEST_CASE("events time the work alone, sample by sample") {
    const Gpu gpu = open_gpu();
    const int count = 1 << 26;
    const DevicePointer data = gpu.device->allocate(count * sizeof(int));
    const auto work = [&] { launch_add(gpu, data, 1, count); };
    const auto slow_before = [&] {
        for (int i = 0; i < 20; ++i)
            work();
    };
    std::vector<double> alone = gpu.device->time(9, {}, work);
    std::vector<double> after = gpu.device->time(9, slow_before, work);
    REQUIRE(alone.size() == 9);
    REQUIRE(after.size() == 9);
    std::sort(alone.begin(), alone.end());
    std::sort(after.begin(), after.end());
    CHECK(alone[4] > 0);
    CHECK(after[4] < 5 * alone[4]);
    gpu.device->release(data);
}

TEST_CASE("threads launch from one module at once") {
    const Gpu gpu = open_gpu();
    const int count = 4096;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            const DevicePointer data = gpu.device->allocate(count * sizeof(int));
            gpu.device->fill(data, 0, count * sizeof(int));
            for (int i = 0; i < 50; ++i)
                launch_add(gpu, data, t, count);
            std::vector<int> host(count);
            gpu.device->copy_to_host(host.data(), data, count * sizeof(int));
            if (host != std::vector<int>(count, 50 * t)) ++wrong;
            gpu.device->release(data);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("device information is filled in") {
    require_gpu();
    const DriverStatus status = driver_status();
    for (const DeviceInfo& info : status.devices) {
        CHECK_FALSE(info.name.empty());
        CHECK(info.compute_major >= 5);
        CHECK(info.multiprocessors > 0);
        CHECK(info.warp_size == 32);
        CHECK(info.shared_memory_per_block >= 48 * 1024);
        CHECK(info.shared_memory_per_multiprocessor >= info.shared_memory_per_block);
        CHECK(info.registers_per_multiprocessor >= 32768);
        CHECK(info.l2_bytes > 0);
        CHECK(info.memory_bytes > 0);
        CHECK(info.driver_version == status.version);
    }
}

TEST_CASE("an image for another architecture is refused with a reason") {
    require_gpu();
    const std::unique_ptr<Device> device = open_cuda_device(0);
    CompileRequest request;
    request.name = "test.cu";
    request.source = k_source;
    request.architecture = device->info().compute_major == 8 ? "sm_90" : "sm_80";
    const CompileResult compiled = make_nvrtc_compiler()->compile(request);
    REQUIRE(compiled.ok);
    CHECK_THROWS_WITH(device->load(compiled.code), contains("cuModuleLoadDataEx: CUDA_ERROR_"));
}
