#include "device/driver/driver.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

// The driver's library is opened once a process: CTest runs every case in a process of its own, and each case says
// first how the fake driver is to behave.
namespace {

using namespace tconv;

constexpr const char* k_ptx = ".version 7.0\n.target sm_80\n.address_size 64\n";

void use_fake(std::initializer_list<std::pair<std::string, int>> answers = {}) {
    setenv("TCONV_CUDA_DRIVER", TCONV_FAKE_DRIVER, 1);
    for (const auto& [name, value] : answers)
        setenv(("FAKE_CUDA_" + name).c_str(), std::to_string(value).c_str(), 1);
}

template <class Function>
Function* fake(const char* name) {
    void* handle = dlopen(TCONV_FAKE_DRIVER, RTLD_NOW);
    return reinterpret_cast<Function*>(dlsym(handle, name));
}

std::string calls_made() {
    return fake<const char*()>("fake_driver_log")();
}

int count_calls(const std::string& call) {
    int count = 0;
    const std::string log = calls_made();
    for (std::size_t at = log.find(call + "\n"); at != std::string::npos; at = log.find(call + "\n", at + 1))
        ++count;
    return count;
}

template <class Action>
std::string error_of(ErrorKind kind, Action&& action) {
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.kind() == kind);
        return error.what();
    }
    FAIL("no error");
    return {};
}

}  // namespace

TEST_CASE("a missing driver library is a reason, not a failure") {
    setenv("TCONV_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
    const DriverStatus status = driver_status();
    CHECK_FALSE(status.available);
    CHECK(status.devices.empty());
    CHECK_THAT(status.reason, contains("/nonexistent/libcuda.so.1"));
    CHECK_THAT(error_of(ErrorKind::unavailable, [] { (void)open_cuda_device(0); }), contains("is not there"));
    CHECK_THAT(error_of(ErrorKind::unavailable, [] { (void)open_current_cuda_device(); }), contains("is not there"));
}

TEST_CASE("a driver that does not start is named by its error") {
    use_fake({{"cuInit", 100}});
    const DriverStatus status = driver_status();
    CHECK_FALSE(status.available);
    CHECK(status.reason ==
          "The CUDA driver does not start: cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected).");
}

TEST_CASE("a driver without devices is not available") {
    use_fake({{"devices", 0}});
    const DriverStatus status = driver_status();
    CHECK_FALSE(status.available);
    CHECK(status.version == "12.4");
    CHECK(status.reason == "The CUDA driver lists no device.");
    CHECK_THAT(error_of(ErrorKind::unavailable, [] { (void)open_cuda_device(0); }), contains("cuda:0"));
}

TEST_CASE("an error code that the driver cannot name is an error") {
    use_fake({{"cuDeviceGetCount", 54321}});
    const DriverStatus status = driver_status();
    CHECK_FALSE(status.available);
    CHECK_THAT(status.reason, contains("cuDeviceGetCount: error 54321"));
}

TEST_CASE("a device tells its limits and an ordinal outside the list is refused") {
    use_fake();
    const DriverStatus status = driver_status();
    REQUIRE(status.available);
    REQUIRE(status.devices.size() == 1);
    const DeviceInfo& info = status.devices[0];
    CHECK(info.kind == DeviceKind::cuda);
    CHECK(info.name == "Fake GPU");
    CHECK(info.memory_bytes == std::int64_t{1} << 33);
    CHECK(info.driver_version == "12.4");
    CHECK(info.multiprocessors == 1016);          // attribute 16
    CHECK(info.shared_memory_per_block == 1097);  // attribute 97, the opt-in maximum
    CHECK(open_cuda_device(0)->info() == info);
    CHECK_THAT(error_of(ErrorKind::unavailable, [] { (void)open_cuda_device(1); }), contains("no device cuda:1"));
    CHECK_THROWS_AS(open_cuda_device(-1), Error);
}

TEST_CASE("a device tells where it sits") {
    use_fake();
    CHECK(pci_bus_id(0) == "0000:1b:00.0");
    CHECK(pci_bus_id(2) == "0000:1d:00.0");
    setenv("FAKE_CUDA_cuDeviceGet", "1", 1);
    CHECK_THAT(error_of(ErrorKind::device, [] { (void)pci_bus_id(7); }), contains("cuDeviceGet(cuda:7)"));
}

TEST_CASE("the primary context is current during a call only, and outlives its modules") {
    use_fake();
    std::unique_ptr<Device> device = open_cuda_device(0);
    CHECK(fake<void*()>("fake_driver_current")() == nullptr);
    std::unique_ptr<Module> module = device->load({k_ptx});
    CHECK(fake<void*()>("fake_driver_current")() == nullptr);
    CHECK(count_calls("cuCtxPushCurrent") == count_calls("cuCtxPopCurrent"));
    device.reset();
    CHECK(count_calls("cuDevicePrimaryCtxRelease") == 0);
    module.reset();
    CHECK(count_calls("cuModuleUnload") == 1);
    CHECK(count_calls("cuDevicePrimaryCtxRelease") == 1);
}

TEST_CASE("a context that is current already is used and stays its owner's") {
    use_fake();
    REQUIRE(driver_status().available);
    int own = 0;
    fake<void(void*)>("fake_driver_set_current")(&own);
    std::unique_ptr<Device> device = open_current_cuda_device();
    device->synchronize();
    device.reset();
    CHECK(fake<void*()>("fake_driver_current")() == &own);
    CHECK(count_calls("cuDevicePrimaryCtxRetain") == 0);
    CHECK(count_calls("cuDevicePrimaryCtxRelease") == 0);
    CHECK(count_calls("cuCtxPushCurrent") == 0);
}

TEST_CASE("a function is resolved once and opts in to large shared memory once") {
    use_fake();
    const std::unique_ptr<Device> device = open_cuda_device(0);
    const std::unique_ptr<Module> module = device->load({k_ptx});
    LaunchGeometry geometry;
    device->launch(*module, "k", geometry, nullptr, nullptr);
    CHECK(count_calls("cuFuncSetAttribute") == 0);
    geometry.shared_bytes = 48 * 1024 - 1024;  // with the fake's 1024 static bytes: all that needs no asking
    device->launch(*module, "k", geometry, nullptr, nullptr);
    CHECK(count_calls("cuFuncSetAttribute") == 0);
    geometry.shared_bytes += 1;
    for (int i = 0; i < 3; ++i)
        device->launch(*module, "k", geometry, nullptr, nullptr);
    CHECK(count_calls("cuFuncSetAttribute") == 1);
    CHECK(count_calls("cuModuleGetFunction") == 1);
    CHECK(count_calls("cuLaunchKernel") == 5);
}

TEST_CASE("a launch that overlaps the one before it, or runs in clusters, is launched with these attributes") {
    use_fake();
    const std::unique_ptr<Device> device = open_cuda_device(0);
    const std::unique_ptr<Module> module = device->load({k_ptx});
    LaunchGeometry geometry;
    geometry.overlaps = true;
    device->launch(*module, "k", geometry, nullptr, nullptr);
    CHECK(count_calls("cuLaunchKernelEx") == 1);
    CHECK(count_calls("overlap") == 1);
    CHECK(count_calls("cluster 2x1x1") == 0);
    geometry.cluster = 2;
    device->launch(*module, "k", geometry, nullptr, nullptr);
    CHECK(count_calls("overlap") == 2);
    CHECK(count_calls("cluster 2x1x1") == 1);
    geometry.overlaps = false;
    device->launch(*module, "k", geometry, nullptr, nullptr);
    CHECK(count_calls("overlap") == 2);
    CHECK(count_calls("cluster 2x1x1") == 2);
    CHECK(count_calls("cuLaunchKernelEx") == 3);
    CHECK(count_calls("cuLaunchKernel") == 0);
}

TEST_CASE("failures name the call, the kernel and the driver's words") {
    use_fake({{"cuLaunchKernel", 1}, {"cuMemAlloc", 77777}, {"cuModuleUnload", 1}, {"cuMemFree", 1}});
    const std::unique_ptr<Device> device = open_cuda_device(0);
    {
        const std::unique_ptr<Module> module = device->load({k_ptx});
        CHECK(error_of(ErrorKind::device, [&] { device->launch(*module, "direct_f32", {}, nullptr, nullptr); }) ==
              "cuLaunchKernel(direct_f32): CUDA_ERROR_INVALID_VALUE (invalid argument)");
        LaunchGeometry huge;
        huge.grid = {std::int64_t{1} << 32, 1, 1};
        CHECK_THAT(error_of(ErrorKind::device, [&] { device->launch(*module, "k", huge, nullptr, nullptr); }),
                   contains("grid x (4294967296)"));
    }
    CHECK(error_of(ErrorKind::device, [&] { (void)device->allocate(256); }) == "cuMemAlloc(256 bytes): error 77777");
    device->release(0x10000);
}

TEST_CASE("a tensor map is made by the driver from the numbers, the address and the batch") {
    use_fake();
    const std::unique_ptr<Device> device = open_cuda_device(0);
    const TensorMap map{MapElement::tf32, {24, 10, 3}, {96, 960}, {16, 4, 2}, 64, 2, 256};
    const EncodedTensorMap encoded = device->encode(map, 5, 0x70000);
    std::array<std::uint64_t, 16> words{};
    std::memcpy(words.data(), encoded.bytes.data(), sizeof words);
    // CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 is 11, SWIZZLE_64B 2, L2_256B 3.
    CHECK(words == std::array<std::uint64_t, 16>{11, 3, 0x70000, 24, 10, 15, 96, 960, 16, 4, 2, 2, 3, 100});
    CHECK(reinterpret_cast<std::uintptr_t>(&encoded) % 128 == 0);
    setenv("FAKE_CUDA_cuTensorMapEncodeTiled", "1", 1);
    CHECK(error_of(ErrorKind::device, [&] { (void)device->encode(map, 1, 0x70000); }) ==
          "cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE (invalid argument)");
}

TEST_CASE("a driver without tensor maps serves everything else") {
    setenv("TCONV_CUDA_DRIVER", TCONV_FAKE_OLD_DRIVER, 1);
    const std::unique_ptr<Device> device = open_cuda_device(0);
    const std::unique_ptr<Module> module = device->load({k_ptx});
    CHECK_NOTHROW(device->launch(*module, "k", {}, nullptr, nullptr));
    const TensorMap map{MapElement::f32, {24}, {}, {16}, 0, -1, 0};
    for (int time = 0; time < 2; ++time) {
        CHECK_THAT(error_of(ErrorKind::unavailable, [&] { (void)device->encode(map, 1, 0x70000); }),
                   contains("has no cuTensorMapEncodeTiled: it is too old"));
    }
}

TEST_CASE("a refused image comes with the driver's log, a damaged one never reaches the driver") {
    use_fake({{"cuModuleLoadDataEx", 1}});
    const std::unique_ptr<Device> device = open_cuda_device(0);
    CHECK(error_of(ErrorKind::device, [&] { (void)device->load({k_ptx}); }) ==
          "cuModuleLoadDataEx: CUDA_ERROR_INVALID_VALUE (invalid argument): ptxas said no");
    CHECK_THROWS_AS(device->load({"\x7f"
                                  "ELF cut"}),
                    Error);
    CHECK(count_calls("cuModuleLoadDataEx") == 1);
}

TEST_CASE("a sample is waited for before the next is enqueued, with the same two events") {
    use_fake();
    const std::unique_ptr<Device> device = open_cuda_device(0);
    std::string order;
    const std::vector<double> samples = device->time(
        3, [&] { order += "b"; }, [&] { order += "w"; });
    CHECK(samples == std::vector<double>{0.5, 0.5, 0.5});
    CHECK(order == "bwbwbw");
    CHECK(count_calls("cuEventSynchronize") == 3);
    CHECK(calls_made().find("cuEventElapsedTime") > calls_made().find("cuEventSynchronize"));
    CHECK(calls_made().find("cuEventElapsedTime") < calls_made().rfind("cuEventRecord"));
    CHECK(device->time(2, {}, [] {}).size() == 2);
    CHECK(count_calls("cuEventCreate") == 2);
    CHECK(device->time(0, {}, [] {}).empty());
}

TEST_CASE("time at work is counted from the first thing enqueued to what the host waits for") {
    use_fake();
    const std::unique_ptr<Device> device = open_cuda_device(0);
    const std::unique_ptr<Module> module = device->load({k_ptx});
    device->fill(0x10000, 0, 8);
    device->synchronize();
    CHECK(count_calls("cuEventRecord") == 0);
    CHECK(device->seconds_at_work() == 0);
    device->count_work();
    device->fill(0x10000, 0, 8);
    device->launch(*module, "k", {}, nullptr, nullptr);
    CHECK(count_calls("cuEventRecord") == 1);
    CHECK(device->seconds_at_work() == 0);
    device->synchronize();
    CHECK(device->seconds_at_work() == Approx(0.0005));  // the fake's answer for any two events
    device->synchronize();
    CHECK(device->seconds_at_work() == Approx(0.0005));
    int value = 0;
    device->launch(*module, "k", {}, nullptr, nullptr);
    device->copy_to_host(&value, 0x10000, sizeof value);
    CHECK(device->seconds_at_work() == Approx(0.001));
    CHECK(device->time(3, {}, [] {}).size() == 3);
    CHECK(device->seconds_at_work() == Approx(0.0025));
    CHECK(count_calls("cuEventCreate") == 2 + 2);
    int stream = 0;
    device->launch(*module, "k", {}, nullptr, &stream);
    device->synchronize();
    CHECK(device->seconds_at_work() == Approx(0.0025));
}

TEST_CASE("a driver that tells no times counts no work and fails nothing") {
    use_fake({{"cuEventRecord", 1}});
    const std::unique_ptr<Device> device = open_cuda_device(0);
    device->count_work();
    CHECK_NOTHROW(device->fill(0x10000, 0, 8));
    CHECK_NOTHROW(device->synchronize());
    CHECK(device->seconds_at_work() == 0);
}

TEST_CASE("memory that was released is used again for about as much, where that is asked for") {
    use_fake();
    const std::unique_ptr<Device> device = open_cuda_device(0);
    device->release(device->allocate(1 << 20));
    CHECK(count_calls("cuMemFree") == 1);
    device->keep_released();
    const DevicePointer first = device->allocate(1 << 20);
    device->release(first);
    CHECK(count_calls("cuMemFree") == 1);
    CHECK(device->allocated_bytes() == 0);
    CHECK(device->allocate((1 << 20) - 4096) == first);
    CHECK(device->allocated_bytes() == 1 << 20);
    const DevicePointer second = device->allocate(1 << 20);
    CHECK(second != first);
    CHECK(count_calls("cuMemAlloc") == 3);
    device->release(first);
    device->release(second);
    CHECK(device->allocate(1 << 18) != first);  // far less
    CHECK(count_calls("cuMemAlloc") == 4);
    // A quarter of the device's memory is the most that waits: what has waited longest goes.
    device->release(device->allocate(std::size_t{3} << 30));
    CHECK(count_calls("cuMemFree") == 2);
    device->release(device->allocate(std::size_t{2} << 30));
    CHECK(count_calls("cuMemFree") == 4);
    CHECK(device->allocate(1 << 20) != first);
}

TEST_CASE("memory that waits to be used again is given back where it is in the way") {
    use_fake();
    const std::unique_ptr<Device> device = open_cuda_device(0);
    device->keep_released();
    device->limit_memory(10 << 20);
    device->release(device->allocate(2 << 20));
    CHECK(count_calls("cuMemFree") == 0);
    const DevicePointer large = device->allocate(9 << 20);
    CHECK(count_calls("cuMemFree") == 1);
    CHECK_THROWS_AS(device->allocate(2 << 20), OutOfDeviceMemory);
    device->release(large);
    device->release(device->allocate(1 << 20));
    const int freed = count_calls("cuMemFree");
    setenv("FAKE_CUDA_cuMemAlloc", "2", 1);  // CUDA_ERROR_OUT_OF_MEMORY
    const int asked = count_calls("cuMemAlloc");
    CHECK_THROWS_AS(device->allocate(4 << 20), OutOfDeviceMemory);
    CHECK(count_calls("cuMemFree") == freed + 1);
    CHECK(count_calls("cuMemAlloc") == asked + 2);
}
