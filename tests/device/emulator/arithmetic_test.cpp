// The functions that NVRTC has built in and the emulator's header provides.

#include "emulator_for_tests.hpp"
#include "tests/catch.hpp"

namespace tconv {

TEST_CASE("built-in arithmetic gives what CUDA documents") {
    const auto device = make_emulator();
    const auto module = device->load(compile_or_fail(R"(
extern "C" __global__ void arithmetic(double* out) {
    int i = 0;
    const float tiny = 1.0f / 4096;
    out[i++] = fmaf(1 + tiny, 1 + tiny, -(1 + 2 * tiny));
    out[i++] = fma(3.0, 4.0, 5.0);
    out[i++] = sqrt(16.0) + sqrtf(9.0f);
    out[i++] = fabs(-2.5) + fabsf(-1.5f) + abs(-3);
    out[i++] = fminf(1.0f, -2.0f) + fmaxf(1.0f, -2.0f);
    out[i++] = fminf(__uint_as_float(0x7fc00000u), 4.0f);
    out[i++] = min(3, -4) + max(3, -4);
    out[i++] = max(1u, 0xffffffffu);
    out[i++] = max(-1, 5u);
    out[i++] = static_cast<double>(min(1ll << 40, 7ll));
    out[i++] = min(2.0f, 1.0f) + max(2.0, 8.0);
    out[i++] = __float_as_uint(1.0f);
    out[i++] = __longlong_as_double(__double_as_longlong(-0.375));
    out[i++] = __int_as_float(__float_as_int(6.5f));
    out[i++] = isnan(__uint_as_float(0x7fc00000u)) + 2 * isinf(1.0f) + 4 * isfinite(1.0);
    out[i++] = warpSize;
}
)",
                                                     {"arithmetic"}));
    const Buffer<double> out(*device, 16);
    launch(*device, *module, "arithmetic", {}, out.pointer());
    CHECK(out.values() == std::vector<double>{0x1p-24, 17, 7, 7, -1, 4, -1, 4294967295.0, 4294967295.0, 7, 9,
                                              0x3f800000, -0.375, 6.5, 5, 32});
}

TEST_CASE("a product and a sum are fused only where the source says so") {
    const auto device = make_emulator();
    const auto module = device->load(compile_or_fail(R"(
extern "C" __global__ void separate(const float* x, float* out) { out[0] = x[0] * x[1] + x[2]; }
)",
                                                     {"separate"}));
    const float near_one = 1 + 0x1p-12f;
    const Buffer<float> x(*device, std::vector<float>{near_one, near_one, -(1 + 0x1p-11f)});
    const Buffer<float> out(*device, 1, 7.0f);
    launch(*device, *module, "separate", {}, x.pointer(), out.pointer());
    CHECK(out.values()[0] == 0.0f);
}

TEST_CASE("atomics lose nothing between blocks that run at the same time") {
    EmulatorOptions options;
    options.workers = 4;
    const auto device = make_emulator(options);
    const auto module = device->load(compile_or_fail(R"(
extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, int* im, unsigned* um,
                                   unsigned long long* lm, int* seen) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    seen[atomicAdd(i, 1)] = 1;
    atomicAdd(u, 2u);
    atomicAdd(l, 1ull << 32);
    atomicAdd(f, 0.5f);
    atomicMax(im, id - 100000);
    atomicMax(um, static_cast<unsigned>(id) * 7u);
    atomicMax(lm, static_cast<unsigned long long>(id) << 33);
}
)",
                                                     {"atomics"}));
    const int n = 64 * 96;
    const Buffer<int> i(*device, 1);
    const Buffer<unsigned> u(*device, 1);
    const Buffer<std::uint64_t> l(*device, 1);
    const Buffer<float> f(*device, 1);
    const Buffer<int> im(*device, 1, -2000000000);
    const Buffer<unsigned> um(*device, 1);
    const Buffer<std::uint64_t> lm(*device, 1);
    const Buffer<int> seen(*device, n);
    launch(*device, *module, "atomics", {{64, 1, 1}, {96, 1, 1}, 0}, i.pointer(), u.pointer(), l.pointer(), f.pointer(),
           im.pointer(), um.pointer(), lm.pointer(), seen.pointer());
    CHECK(i.values()[0] == n);
    CHECK(u.values()[0] == 2u * n);
    CHECK(l.values()[0] == std::uint64_t{n} << 32);
    CHECK(f.values()[0] == 0.5f * n);
    CHECK(im.values()[0] == n - 1 - 100000);
    CHECK(um.values()[0] == 7u * (n - 1));
    CHECK(lm.values()[0] == std::uint64_t{n - 1} << 33);
    CHECK(seen.values() == std::vector<int>(n, 1));
}

}  // namespace tconv
