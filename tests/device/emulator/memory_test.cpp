#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "device/emulator/dynamic_shared.hpp"
#include "emulator_for_tests.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

namespace tconv {
namespace {

constexpr const char* k_source = R"(
template <int N>
__device__ float* tile() { __shared__ float t[N]; return t; }
__device__ __forceinline__ float* inlined() { __shared__ float t[8]; return t; }
extern "C" __global__ void unwritten(float* out) {
    __shared__ float fixed[32];
    float* dynamic = tconv::dynamic_shared<float>();
    float* mine = out + 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    mine[0] = fixed[threadIdx.x];
    mine[1] = dynamic[threadIdx.x];
    mine[2] = tile<16>()[threadIdx.x % 16];
    mine[3] = inlined()[threadIdx.x % 8];
    __syncthreads();
    fixed[threadIdx.x] = dynamic[threadIdx.x] = tile<16>()[threadIdx.x % 16] = inlined()[threadIdx.x % 8] = 1;
}
extern "C" __global__ void write_dynamic(int index) {
    if (threadIdx.x == 0 && blockIdx.x == 2) tconv::dynamic_shared<float>()[index] = 1;
}
extern "C" __global__ void write_static(int index, float* out) {
    __shared__ float fixed[10];
    fixed[index] = 1;
    __syncthreads();
    out[0] = fixed[0];
}
extern "C" __global__ void read_global(const float* in, float* out, int index) { out[0] = in[index]; }
extern "C" __global__ void copy_global(const float* in, float* out, int index) {
    tconv::copy_async<4>(tconv::dynamic_shared<float>(), in + index, true);
    tconv::copy_async_commit();
    tconv::copy_async_wait<0>();
    out[0] = tconv::dynamic_shared<float>()[0];
}
extern "C" __global__ void alignment(int* out) {
    __shared__ double fixed[3];
    out[0] = reinterpret_cast<unsigned long long>(tconv::dynamic_shared<char>()) % 16;
    out[1] = reinterpret_cast<unsigned long long>(fixed) % 8;
}
)";

CompiledCode memory_kernels() {
    return compile_or_fail(
        k_source, {"unwritten", "write_dynamic", "write_static", "read_global", "copy_global", "alignment"}, true);
}

}  // namespace

TEST_CASE("shared memory that no thread has written is not a number, in every block") {
    const auto device = make_emulator();
    const auto module = device->load(memory_kernels());
    const Buffer<float> out(*device, 20 * 32 * 4, 0.0f);
    for (int i = 0; i < 2; ++i) {
        launch(*device, *module, "unwritten", {{20, 1, 1}, {32, 1, 1}, 32 * 4}, out.pointer());
        for (const float value : out.values())
            REQUIRE(std::isnan(value));
    }
}

TEST_CASE("allocations may not pass the limit, and count until they are released") {
    const auto device = make_emulator();
    CHECK(device->memory_limit() == static_cast<std::size_t>(device->info().memory_bytes));
    device->limit_memory(1000);
    CHECK(device->memory_limit() == 1000);
    const DevicePointer first = device->allocate(600);
    CHECK_THROWS_WITH(device->allocate(401),
                      "401 bytes of device memory, beside 600 in use, would pass the limit of 1000");
    CHECK_THROWS_AS(device->allocate(std::numeric_limits<std::size_t>::max()), OutOfDeviceMemory);
    const DevicePointer second = device->allocate(400);
    CHECK_THROWS_AS(device->allocate(1), OutOfDeviceMemory);
    device->release(first);
    CHECK(device->allocated_bytes() == 400);
    device->release(device->allocate(600));
    device->release(second);
    CHECK(device->allocated_bytes() == 0);
}

TEST_CASE("allocations and shared memory are aligned") {
    const auto device = make_emulator();
    const auto module = device->load(memory_kernels());
    const Buffer<int> out(*device, 2, 1);
    CHECK(out.pointer() % 256 == 0);
    launch(*device, *module, "alignment", {{1, 1, 1}, {1, 1, 1}, 3}, out.pointer());
    CHECK(out.values() == std::vector<int>{0, 0});
    CHECK_THROWS_AS(device->allocate(0), Error);
}

TEST_CASE("fill and copies reach every byte") {
    const auto device = make_emulator();
    const Buffer<std::uint8_t> buffer(*device, 1000, 3);
    device->fill(buffer.pointer() + 1, 0xab, 998);
    auto expected = std::vector<std::uint8_t>(1000, 0xab);
    expected.front() = expected.back() = 3;
    CHECK(buffer.values() == expected);
}

#ifndef TCONV_SANITIZE

TEST_CASE("a write outside dynamic shared memory is reported with its block and distance") {
    const auto device = make_emulator();
    const auto module = device->load(memory_kernels());
    const auto write = [&](int index) {
        launch(*device, *module, "write_dynamic", {{4, 1, 1}, {32, 1, 1}, 40}, index);
    };
    CHECK_NOTHROW(write(0));
    CHECK_NOTHROW(write(9));
    CHECK(failure_of([&] { write(10); }) ==
          "kernel write_dynamic: block (2,0,0) wrote up to 4 bytes past the end of its 40 bytes of dynamic shared "
          "memory");
    CHECK_THAT(failure_of([&] { write(500); }), contains("wrote up to 1964 bytes past the end"));
    CHECK_THAT(failure_of([&] { write(-3); }), contains("wrote 12 bytes before the beginning of its 40 bytes"));
    CHECK_NOTHROW(write(9));
}

TEST_CASE("static shared memory is known and counted against the limit") {
    EmulatorOptions options;
    const auto module_of = [&](Device& device, const std::string& floats) {
        return device.load(compile_or_fail(
            "extern \"C\" __global__ void fill(float* out) { __shared__ float t[" + floats +
                "]; t[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = t[blockDim.x - 1 - threadIdx.x]; }",
            {"fill"}));
    };
    const auto device = make_emulator(options);
    const Buffer<float> out(*device, 32);
    const auto fits = module_of(*device, "12288");
    CHECK(device->resources(*fits, "fill", {}).static_shared_bytes == 49152);
    CHECK_NOTHROW(launch(*device, *fits, "fill", {{1, 1, 1}, {32, 1, 1}, 232448 - 49152}, out.pointer()));
    CHECK_THAT(failure_of([&] {
                   launch(*device, *fits, "fill", {{1, 1, 1}, {32, 1, 1}, 232448 - 49151}, out.pointer());
               }),
               contains("183297 bytes of dynamic and 49152 bytes of static"));
    const auto too_large = module_of(*device, "12289");
    CHECK_THAT(failure_of([&] {
                   launch(*device, *too_large, "fill", {{1, 1, 1}, {32, 1, 1}, 0}, out.pointer());
               }),
               contains("bytes, the limit is 49152"));
    // 16 and 8 floats in functions, 32 in the kernel itself, 10 and 3 doubles in the others.
    const auto several = device->load(memory_kernels());
    CHECK(device->resources(*several, "unwritten", {}).static_shared_bytes >= (16 + 8 + 32 + 10) * 4 + 3 * 8);
}

#else

namespace {

/// What a process writes that runs `kernel` alone and is expected to be ended by AddressSanitizer.
template <class... Arguments>
std::string report_of(const std::string& kernel, const LaunchGeometry& geometry, bool forbid, Arguments... arguments) {
    const auto code = memory_kernels();
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::fflush(nullptr);
    const pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {
        dup2(ends[1], STDERR_FILENO);
        EmulatorOptions options;
        options.workers = 1;
        const auto device = make_emulator(options);
        const auto module = device->load(code);
        const DevicePointer in = device->allocate(40);
        const DevicePointer out = device->allocate(4);
        if (forbid) device->forbid_access(in + 16, 8);
        launch(*device, *module, kernel, geometry, arguments(in, out)...);
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(count));
    }
    close(ends[0]);
    int status = 0;
    waitpid(process, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "no report";
    return text;
}

auto number(int value) {
    return [value](DevicePointer, DevicePointer) { return value; };
}
DevicePointer input(DevicePointer in, DevicePointer) {
    return in;
}
DevicePointer output(DevicePointer, DevicePointer out) {
    return out;
}

}  // namespace

TEST_CASE("AddressSanitizer sees every access outside, and none inside") {
    const LaunchGeometry one{{3, 1, 1}, {1, 1, 1}, 40};
    const auto found = contains("AddressSanitizer");
    CHECK(report_of("write_dynamic", one, false, number(9)) == "no report");
    CHECK_THAT(report_of("write_dynamic", one, false, number(10)), found && contains("test.cu:17"));
    CHECK_THAT(report_of("write_dynamic", one, false, number(-1)), found);
    CHECK(report_of("write_static", one, false, number(9), output) == "no report");
    CHECK(report_of("write_static", one, false, number(10), output) != "no report");
    CHECK(report_of("read_global", one, false, input, output, number(9)) == "no report");
    CHECK_THAT(report_of("read_global", one, false, input, output, number(10)), found);
    CHECK_THAT(report_of("copy_global", one, false, input, output, number(10)), found);
}

TEST_CASE("memory that is forbidden is reported, what lies round it is not") {
    const LaunchGeometry one{{1, 1, 1}, {1, 1, 1}, 40};
    CHECK(report_of("read_global", one, true, input, output, number(3)) == "no report");
    CHECK_THAT(report_of("read_global", one, true, input, output, number(4)), contains("AddressSanitizer"));
    CHECK_THAT(report_of("read_global", one, true, input, output, number(5)), contains("AddressSanitizer"));
    CHECK(report_of("read_global", one, true, input, output, number(6)) == "no report");
}

#endif

}  // namespace tconv
