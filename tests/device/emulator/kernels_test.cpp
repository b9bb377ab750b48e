// Whole kernels, as people write them, against plain loops.

#include <numeric>
#include <random>

#include "emulator_for_tests.hpp"
#include "tests/catch.hpp"

namespace tconv {
namespace {

std::vector<float> random_floats(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> distribution(-1, 1);
    std::vector<float> values(count);
    for (float& value : values)
        value = distribution(generator);
    return values;
}

}  // namespace

TEST_CASE("a vector addition covers its tail and nothing more") {
    const auto device = make_emulator();
    const auto module = device->load(compile_or_fail(R"(
extern "C" __global__ void __launch_bounds__(128)
add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
)",
                                                     {"add"}));
    for (const int n : {1, 127, 128, 129, 1000}) {
        const auto a = random_floats(static_cast<std::size_t>(n), 1);
        const auto b = random_floats(static_cast<std::size_t>(n), 2);
        const Buffer<float> x(*device, a);
        const Buffer<float> y(*device, b);
        const Buffer<float> z(*device, static_cast<std::size_t>(n), -7.0f);
        launch(*device, *module, "add", {{(n + 127) / 128, 1, 1}, {128, 1, 1}, 0}, x.pointer(), y.pointer(),
               z.pointer(), n);
        const auto c = z.values();
        for (std::size_t i = 0; i < c.size(); ++i)
            REQUIRE(c[i] == a[i] + b[i]);
    }
}

TEST_CASE("every thread of a 3-D grid of 3-D blocks runs exactly once and knows its place") {
    const auto device = make_emulator();
    const auto module = device->load(compile_or_fail(R"(
extern "C" __global__ void places(int* count) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
    atomicAdd(&count[x + gridDim.x * blockDim.x * (y + gridDim.y * blockDim.y * z)], 1);
}
)",
                                                     {"places"}));
    const LaunchGeometry geometry{{3, 5, 2}, {7, 3, 4}, 0};
    const Buffer<int> count(*device, 3 * 5 * 2 * 7 * 3 * 4);
    launch(*device, *module, "places", geometry, count.pointer());
    CHECK(count.values() == std::vector<int>(3 * 5 * 2 * 7 * 3 * 4, 1));
}

TEST_CASE("block sums by shared memory and by shuffles agree with a loop") {
    const auto device = make_emulator();
    const auto module = device->load(compile_or_fail(R"(
extern "C" __global__ void by_memory(const int* in, int* out) {
    __shared__ int partial[256];
    partial[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}
extern "C" __global__ void by_shuffles(const int* in, int* out) {
    __shared__ int warps[8];
    int sum = in[blockIdx.x * 256 + threadIdx.x];
    #pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = threadIdx.x < 8 ? warps[threadIdx.x] : 0;
    for (int step = 4; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
)",
                                                     {"by_memory", "by_shuffles"}));
    std::vector<int> values(256 * 19);
    std::iota(values.begin(), values.end(), -1000);
    const Buffer<int> in(*device, values);
    for (const char* kernel : {"by_memory", "by_shuffles"}) {
        const Buffer<int> out(*device, 19);
        launch(*device, *module, kernel, {{19, 1, 1}, {256, 1, 1}, 0}, in.pointer(), out.pointer());
        const auto sums = out.values();
        for (std::size_t block = 0; block < sums.size(); ++block) {
            const auto first = values.begin() + static_cast<std::ptrdiff_t>(block * 256);
            REQUIRE(sums[block] == std::accumulate(first, first + 256, 0));
        }
    }
}

TEST_CASE("arguments keep their values and types, structs included") {
    const auto device = make_emulator();
    const auto module = device->load(compile_or_fail(R"(
struct Shape { long long extent[5]; };
struct Mixed { char c; double d; short s; };
extern "C" __global__ void echo(double* out, const Shape shape, char c, Mixed mixed, unsigned long long big, float f) {
    for (int i = 0; i < 5; ++i) out[i] = static_cast<double>(shape.extent[i]);
    out[5] = c;
    out[6] = mixed.c + mixed.d + mixed.s;
    out[7] = static_cast<double>(big >> 32);
    out[8] = f;
}
extern "C" __global__ void nothing() {}
)",
                                                     {"echo", "nothing"}));
    struct Shape {
        std::int64_t extent[5];
    };
    struct Mixed {
        char c;
        double d;
        short s;
    };
    const Buffer<double> out(*device, 9);
    launch(*device, *module, "echo", {}, out.pointer(), Shape{{1, -2, 3, std::int64_t{1} << 40, 5}}, 'x',
           Mixed{1, 0.5, 300}, std::uint64_t{77} << 32, 2.25f);
    CHECK(out.values() == std::vector<double>{1, -2, 3, 1099511627776.0, 5, 'x', 301.5, 77, 2.25});
    CHECK_NOTHROW(launch(*device, *module, "nothing", {}));
}

TEST_CASE("a matrix product with static and dynamic shared memory agrees with a loop") {
    const auto device = make_emulator();
    const auto module = device->load(compile_or_fail(R"(
extern "C" __global__ void multiply(const float* a, const float* b, float* c, int n) {
    __shared__ float left[8][8 + 1];
    float* right = tconv::dynamic_shared<float>();
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        left[threadIdx.y][threadIdx.x] = tconv::load_readonly(a + row * n + k + threadIdx.x);
        right[threadIdx.y * 8 + threadIdx.x] = tconv::load_readonly(b + (k + threadIdx.y) * n + column);
        __syncthreads();
        for (int i = 0; i < 8; ++i) sum = fmaf(left[threadIdx.y][i], right[i * 8 + threadIdx.x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}
)",
                                                     {"multiply"}, true));
    const int n = 24;
    const auto a = random_floats(n * n, 3);
    const auto b = random_floats(n * n, 4);
    const Buffer<float> x(*device, a);
    const Buffer<float> y(*device, b);
    const Buffer<float> z(*device, n * n);
    launch(*device, *module, "multiply", {{3, 3, 1}, {8, 8, 1}, 64 * 4}, x.pointer(), y.pointer(), z.pointer(), n);
    const auto c = z.values();
    for (int row = 0; row < n; ++row) {
        for (int column = 0; column < n; ++column) {
            double sum = 0;
            for (int k = 0; k < n; ++k)
                sum += double{a[row * n + k]} * b[k * n + column];
            REQUIRE(c[row * n + column] == Approx(sum).margin(1e-5));
        }
    }
}

TEST_CASE("a missing kernel is an error that names it") {
    const auto device = make_emulator();
    const auto module = device->load(compile_or_fail("extern \"C\" __global__ void here() {}", {"here"}));
    CHECK(failure_of([&] { launch(*device, *module, "absent", {}); }).find("no kernel absent") != std::string::npos);
    CHECK_THROWS_AS(device->resources(*module, "absent", {}), Error);
    CHECK_NOTHROW(device->resources(*module, "here", {}));
}

TEST_CASE("the emulator takes one time a sample, after what comes before it") {
    const auto device = make_emulator();
    std::string order;
    const auto times = device->time(
        3, [&] { order += 'b'; }, [&] { order += 'w'; });
    CHECK(order == "bwbwbw");
    REQUIRE(times.size() == 3);
    for (const double time : times)
        CHECK(time >= 0);
}

}  // namespace tconv
