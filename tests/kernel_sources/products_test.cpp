#include "tests/kernel_sources/products.hpp"

#include "kernel_sources/sources.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"

using namespace tconv;

namespace {

// What the kernels do with an operand's memory between the start of a product and its end.
constexpr const char* k_faulty_kernels = R"(
__device__ float product(bool early, bool leave) {
    using namespace tconv;
    unsigned char* tile = dynamic_shared<unsigned char>();
    while (reinterpret_cast<u64>(tile) % 1024 != 0)
        ++tile;
    u32* words = reinterpret_cast<u32*>(tile);
    for (int i = threadIdx.x; i < 64 * 32; i += 128)
        words[i] = 0x3f803f80u;  // bf16: one
    __syncthreads();
    float sums[32];
    wgmma_fence();
    wgmma_start<bf16, 64>(sums, wgmma_operand(tile, 0, 1024), wgmma_operand(tile, 0, 1024), false);
    wgmma_commit();
    if (leave && threadIdx.x == 77) return 0;
    if (!early) wgmma_wait<0>();
    for (int i = threadIdx.x; i < 64 * 32; i += 128)
        words[i] = 0;
    __syncthreads();
    if (early) wgmma_wait<0>();
    return sums[0];
}
extern "C" __global__ void waits(float* out) { out[threadIdx.x] = product(false, false); }
extern "C" __global__ void overwrites(float* out) { out[threadIdx.x] = product(true, false); }
extern "C" __global__ void leaves(float* out) { out[threadIdx.x] = product(false, true); }
)";

}  // namespace

TEST_CASE("the emulator's matrix products are those of the functions' descriptions") {
    std::vector<std::string> kernels;
    for (const test::Product& one : test::k_products)
        kernels.emplace_back(one.kernel);
    const auto module =
        test::emulated().build(expand_includes("wgmma_registers.cuh") + test::k_product_kernels, kernels);
    for (const test::Product& one : test::k_products)
        test::check_product(*test::emulated().device, *module, one);
}

TEST_CASE("registers that are changed before their product is waited for spoil it in the emulator") {
    constexpr const char* kernels = R"(
__device__ void product(float* out, bool early) {
    using namespace tconv;
    u32* words = dynamic_shared<u32>();
    for (int i = threadIdx.x; i < 64; i += 128)
        words[i] = 0x3f803f80u;  // bf16: one
    fence_async_proxy();
    __syncthreads();
    u32 registers[4] = {0x3f803f80u, 0x3f803f80u, 0x3f803f80u, 0x3f803f80u};
    float sums[4] = {1, 1, 1, 1};
    wgmma_fence();
    wgmma_add<bf16, 8, 256>(sums, registers, plain_operand(words));
    wgmma_commit();
    if (!early) wgmma_wait<0>();
    registers[3] = 0;
    __syncthreads();
    const float before = sums[0];
    wgmma_wait<0>();
    wgmma_take(sums);
    out[threadIdx.x] = before;
    out[128 + threadIdx.x] = sums[1] + sums[3];
}
extern "C" __global__ void waits(float* out) { product(out, false); }
extern "C" __global__ void hurries(float* out) { product(out, true); }
)";
    Device& device = *test::emulated().device;
    const auto module = test::emulated().build(expand_includes("wgmma_registers.cuh") + kernels, {"waits", "hurries"});
    const test::OnDevice out(device, std::vector<float>(256, -1.0F));
    DevicePointer address = out.address();
    void* arguments[] = {&address};
    const LaunchGeometry geometry{{1, 1, 1}, {128, 1, 1}, 1024};
    const auto found = [&](const char* kernel) {
        device.launch(*module, kernel, geometry, arguments, nullptr);
        const std::vector<float> values = out.read();
        return std::vector<float>{values[77], values[128 + 77]};
    };
    CHECK(found("waits") == std::vector<float>{17, 34});
    // Sums are what they were until the wait; rows 8 and further have lost half of their values.
    CHECK(found("hurries") == std::vector<float>{1, 26});
}

TEST_CASE("an operand that is overwritten before its product is waited for spoils it in the emulator") {
    Device& device = *test::emulated().device;
    const auto module =
        test::emulated().build(expand_includes("wgmma.cuh") + k_faulty_kernels, {"waits", "overwrites", "leaves"});
    const test::OnDevice out(device, std::vector<float>(128, -1.0F));
    DevicePointer address = out.address();
    void* arguments[] = {&address};
    const LaunchGeometry geometry{{1, 1, 1}, {128, 1, 1}, 64 * 128 + 1024};
    device.launch(*module, "waits", geometry, arguments, nullptr);
    CHECK(out.read() == std::vector<float>(128, 16.0F));
    device.launch(*module, "overwrites", geometry, arguments, nullptr);
    CHECK(out.read() == std::vector<float>(128, 0.0F));
    CHECK_THROWS_WITH(device.launch(*module, "leaves", geometry, arguments, nullptr),
                      contains("deadlock") && contains("127 threads wait at wgmma_wait") && contains("1 has exited"));
}
