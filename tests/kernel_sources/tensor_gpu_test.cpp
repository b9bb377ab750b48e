#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/driver/driver.hpp"
#include "device/memory.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "kernel_sources/sources.hpp"
#include "tests/catch.hpp"
#include "tests/device/driver/require_gpu.hpp"

// The instructions of tensor.cuh against a product on the CPU. Operands are small integers, so every sum is exact.
namespace {

using namespace tconv;

constexpr int k_row_words = 32;  // 128 bytes along K: four steps

// D[m][n] = sum of A[m][k] * B[n][k]; both operands have rows of 128 bytes.
constexpr const char* k_kernels = R"(
namespace tconv {

#if __CUDA_ARCH__ >= 800
template <class T>
__device__ void mma_product(const u32* a, const u32* b, float* d) {
    const int row = threadIdx.x / 4;
    const int word = threadIdx.x % 4;
    float sums[4] = {};
    for (int k = 0; k < 32; k += 8) {
        const u32* const mine = a + row * 32 + k + word;
        const u32* const its = b + row * 32 + k + word;
        mma_16x8<T>(sums, {mine[0], mine[8 * 32], mine[4], mine[8 * 32 + 4]}, {its[0], its[4]});
    }
    for (int i = 0; i < 4; ++i)
        d[(row + i / 2 * 8) * 8 + 2 * word + i % 2] = sums[i];
}
#else
template <class T>
__device__ void mma_product(const u32*, const u32*, float*) {}
#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <class T>
__device__ void wgmma_product(const u32* a, const u32* b, float* d) {
    __shared__ alignas(1024) u32 tiles[(64 + 256) * 32];
    for (int i = threadIdx.x; i < (64 + 256) * 32; i += 128) {
        const int row = i / 32;
        const int word = i % 32;
        tiles[row * 32 + (word / 4 ^ row % 8) * 4 + word % 4] = row < 64 ? a[i] : b[i - 64 * 32];
    }
    fence_async_proxy();
    __syncthreads();
    float sums[128];
#pragma unroll
    for (int i = 0; i < 128; ++i)
        sums[i] = 0;
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
        wgmma_64x256<T>(sums, wgmma_operand(tiles, 32 * step), wgmma_operand(tiles + 64 * 32, 32 * step));
    wgmma_commit();
    wgmma_wait<0>();
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 128; ++i)
        d[(threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8) * 256 + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
}
#else
template <class T>
__device__ void wgmma_product(const u32*, const u32*, float*) {}
#endif

}  // namespace tconv

extern "C" __global__ void mma_bf16(const unsigned* a, const unsigned* b, float* d) {
    tconv::mma_product<tconv::bf16>(a, b, d);
}
extern "C" __global__ void mma_tf32(const unsigned* a, const unsigned* b, float* d) {
    tconv::mma_product<tconv::tf32>(a, b, d);
}
extern "C" __global__ void wgmma_bf16(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::bf16>(a, b, d);
}
extern "C" __global__ void wgmma_tf32(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::tf32>(a, b, d);
}
)";

std::uint32_t bits_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

/// Rows of random integers from -8 to 8, as numbers and as the words that the device reads.
struct Operand {
    std::vector<float> values;
    std::vector<std::uint32_t> words;

    Operand(int rows, bool is_bf16, std::mt19937& random) {
        for (int i = 0; i < rows * k_row_words; ++i) {
            const auto draw = [&] {
                return values.emplace_back(static_cast<float>(static_cast<int>(random() % 17) - 8));
            };
            const std::uint32_t first = bits_of(draw());
            words.push_back(is_bf16 ? first >> 16 | (bits_of(draw()) & 0xFFFF0000U) : first);
        }
    }
};

std::vector<float> product(const Operand& a, const Operand& b, int rows, int columns) {
    const std::size_t depth = a.values.size() / static_cast<std::size_t>(rows);
    std::vector<float> result;
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            float sum = 0;
            for (std::size_t k = 0; k < depth; ++k)
                sum += a.values[row * depth + k] * b.values[column * depth + k];
            result.push_back(sum);
        }
    }
    return result;
}

void check_product(Device& device, Module& module, const std::string& kernel, int rows, int columns, int threads) {
    INFO(kernel);
    std::mt19937 random(7);
    const bool is_bf16 = kernel.find("bf16") != std::string::npos;
    const Operand a(rows, is_bf16, random);
    const Operand b(columns, is_bf16, random);
    std::vector<float> found(static_cast<std::size_t>(rows) * columns);
    const DeviceMemory a_memory(device, a.words.size() * 4);
    const DeviceMemory b_memory(device, b.words.size() * 4);
    const DeviceMemory d_memory(device, found.size() * 4);
    device.copy_to_device(a_memory.address(), a.words.data(), a.words.size() * 4);
    device.copy_to_device(b_memory.address(), b.words.data(), b.words.size() * 4);
    DevicePointer a_address = a_memory.address();
    DevicePointer b_address = b_memory.address();
    DevicePointer d_address = d_memory.address();
    std::array<void*, 3> arguments{&a_address, &b_address, &d_address};
    device.launch(module, kernel, {{1, 1, 1}, {threads, 1, 1}, 0}, arguments.data(), nullptr);
    device.copy_to_host(found.data(), d_address, found.size() * 4);
    CHECK(found == product(a, b, rows, columns));
}

}  // namespace

TEST_CASE("on a GPU the tensor cores' instructions multiply matrices as their functions say") {
    require_gpu();
    const auto device = open_cuda_device(0);
    const int major = device->info().compute_major;
    if (major < 8) return;
    CompileRequest request;
    request.name = "tensor_test.cu";
    request.source = expand_includes("tensor.cuh") + k_kernels;
    request.kernels = {"mma_bf16", "mma_tf32", "wgmma_bf16", "wgmma_tf32"};
    request.architecture = architecture_of(device->info());
    const CompileResult compiled = make_nvrtc_compiler()->compile(request);
    INFO(compiled.log);
    REQUIRE(compiled.ok);
    const auto module = device->load(compiled.code);
    check_product(*device, *module, "mma_bf16", 16, 8, 32);
    check_product(*device, *module, "mma_tf32", 16, 8, 32);
    if (major != 9) return;
    check_product(*device, *module, "wgmma_bf16", 64, 256, 128);
    check_product(*device, *module, "wgmma_tf32", 64, 256, 128);
}
