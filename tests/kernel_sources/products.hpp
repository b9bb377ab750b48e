#pragma once

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/data_type.hpp"
#include "device/memory.hpp"
#include "tests/catch.hpp"
#include "tests/support/element_types.hpp"

// The instructions behind warp_mma.cuh, wgmma.cuh and wgmma_registers.cuh against a product on the CPU, on a GPU and in
// the emulator. Operands are small integers, so every sum is exact.
namespace tconv::test {

inline constexpr int k_row_words = 32;  // 128 bytes along K: four steps

struct Product {
    const char* kernel;
    int rows, columns, threads;
    bool needs_wgmma;
};

inline constexpr std::array k_products{
    Product{"mma_f16", 16, 8, 32, false},
    Product{"wgmma_f16", 64, 256, 128, true},
    Product{"mma_bf16", 16, 8, 32, false},
    Product{"wgmma_bf16", 64, 256, 128, true},
    Product{"mma_tf32", 16, 8, 32, false},
    Product{"wgmma_tf32", 64, 256, 128, true},
    Product{"wgmma_bf16_32", 64, 32, 128, true},
    Product{"wgmma_f16_96", 64, 96, 128, true},
    Product{"wgmma_bf16_160", 64, 160, 128, true},
    Product{"wgmma_tf32_64", 64, 64, 128, true},
    Product{"wgmma_tf32_128", 64, 128, 128, true},
    Product{"wgmma_f16_192", 64, 192, 128, true},
    Product{"wgmma_bf16_224", 64, 224, 128, true},
    Product{"wgmma_f16_64_mn_a", 64, 64, 128, true},
    Product{"wgmma_bf16_256_mn_a", 64, 256, 128, true},
    Product{"wgmma_bf16_64_mn_b", 64, 64, 128, true},
    Product{"wgmma_f16_256_mn_b", 64, 256, 128, true},
    Product{"wgmma_f16_96_mn_b", 64, 96, 128, true},
    Product{"wgmma_bf16_192_mn_both", 64, 192, 128, true},
    Product{"wgmma_f16_128_mn_both", 64, 128, 128, true},
    Product{"wgmma_f16_64_mn_rows_of_32", 64, 64, 128, true},
    Product{"wgmma_bf16_96_mn_rows_of_32", 64, 96, 128, true},
    Product{"wgmma_bf16_256_mn_rows_of_64", 64, 256, 128, true},
    Product{"wgmma_f16_64_mn_rows_of_64", 64, 64, 128, true},
    Product{"wgmma_registers_tf32_8", 64, 8, 128, true},
    Product{"wgmma_registers_bf16_16", 64, 16, 128, true},
    Product{"wgmma_registers_tf32_24", 64, 24, 128, true},
    Product{"wgmma_registers_f16_24", 64, 24, 128, true},
    Product{"wgmma_registers_bf16_32", 64, 32, 128, true},
    Product{"wgmma_registers_tf32_48", 64, 48, 128, true},
    Product{"wgmma_registers_f16_64", 64, 64, 128, true},
    Product{"wgmma_registers_tf32_96", 64, 96, 128, true},
    Product{"wgmma_registers_bf16_128", 64, 128, 128, true},
    Product{"wgmma_registers_f16_192", 64, 192, 128, true},
    Product{"wgmma_registers_tf32_256", 64, 256, 128, true},
    Product{"wgmma_registers_swizzled_tf32_216", 64, 216, 128, true},
    Product{"wgmma_registers_swizzled_tf32_256", 64, 256, 128, true},
    Product{"wgmma_registers_swizzled_bf16_8", 64, 8, 128, true},
    Product{"wgmma_registers_swizzled_bf16_104", 64, 104, 128, true},
    Product{"wgmma_registers_swizzled_f16_32", 64, 32, 128, true},
    Product{"wgmma_registers_swizzled_f16_248", 64, 248, 128, true},
};

// D[m][n] = sum of A[m][k] * B[n][k]; both operands have rows of 128 bytes.
inline constexpr const char* k_product_kernels = R"(
namespace tconv {

#if defined(TCONV_EMULATOR) || __CUDA_ARCH__ >= 800
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

#if defined(TCONV_EMULATOR) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
// The rows of A begin at row `First` of a tile, and eights of them lie `Pitch` rows apart.
template <class T, int N, int First, int Pitch>
__device__ void wgmma_product(const u32* a, const u32* b, float* d) {
    constexpr int rows = (First + 7 * Pitch + 8 + 7) / 8 * 8;
    u32* tiles = dynamic_shared<u32>();
    while (reinterpret_cast<u64>(tiles) % 1024 != 0)
        ++tiles;
    for (int i = threadIdx.x; i < (64 + N) * 32; i += 128) {
        const int number = i / 32;
        const int row = number < 64 ? First + number / 8 * Pitch + number % 8 : rows + number - 64;
        tiles[row * 32 + (i % 32 ^ row % 8 * 4)] = number < 64 ? a[i] : b[i - 64 * 32];
    }
    fence_async_proxy();
    __syncthreads();
    float sums[N / 2];
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
        wgmma_start<T, N>(sums, wgmma_operand(tiles + First * 32, 32 * step, Pitch * 128),
                          wgmma_operand(tiles + rows * 32, 32 * step, 1024), step > 0);
    wgmma_commit();
    wgmma_wait<0>();
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
        d[(threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8) * N + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

// Where value k of row i (of A, or column of B) lies in an operand of rows of `Row` bytes, in 16-bit values.
template <Major M, int Blocks, int Row>
__device__ int operand_value(int i, int k) {
    constexpr int values = Row / 2;
    const int offset = M == Major::k ? i * Row + k * 2 : i / values * Blocks + k * Row + i % values * 2;
    return (offset ^ offset / 128 % (Row / 16) * 16) / 2;
}
// Blocks of as many rows or columns as a row of `Row` bytes has begin `Blocks` bytes apart; of A as near as they can.
template <class T, int N, Major A, Major B, int Blocks, int Row = 128>
__device__ void wgmma_product_of(const u32* a, const u32* b, float* d) {
    u32* tiles = dynamic_shared<u32>();
    while (reinterpret_cast<u64>(tiles) % 1024 != 0)
        ++tiles;
    T* left = reinterpret_cast<T*>(tiles);
    T* right = left + 64 * 64;
    for (int i = threadIdx.x; i < (64 + N) * 64; i += 128) {
        const int row = i / 64;
        const int k = i % 64;
        if (row < 64) left[operand_value<A, 64 * Row, Row>(row, k)] = reinterpret_cast<const T*>(a)[i];
        if (row >= 64) right[operand_value<B, Blocks, Row>(row - 64, k)] = reinterpret_cast<const T*>(b)[i - 64 * 64];
    }
    fence_async_proxy();
    __syncthreads();
    float sums[N / 2];
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
        wgmma_start<T, N, A, B>(
            sums,
            A == Major::k ? wgmma_operand(left, 32 * step, 1024)
                          : wgmma_operand_mn<Row>(left + 8 * Row * step, 64 * Row),
            B == Major::k ? wgmma_operand(right, 32 * step, 1024)
                          : wgmma_operand_mn<Row>(right + 8 * Row * step, Blocks),
            step > 0);
    wgmma_commit();
    wgmma_wait<0>();
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
        d[(threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8) * N + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

// Eights of columns of B begin `Eights` bytes apart, a step's columns behind those of the step before.
template <class T, int N, int Eights>
__device__ void wgmma_registers_product(const u32* a, const u32* b, float* d) {
    constexpr int step_words = N / 8 * Eights / 4;
    u32* packed = dynamic_shared<u32>();
    for (int i = threadIdx.x; i < N * 32; i += 128) {
        const int column = i / 32;
        const int word = i % 32;
        packed[word / 8 * step_words + column / 8 * (Eights / 4) + word % 8 / 4 * 32 + column % 8 * 4 + word % 4] = b[i];
    }
    fence_async_proxy();
    __syncthreads();
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    const int word = threadIdx.x % 4;
    u32 registers[4][4];
    float sums[N / 2] = {};
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            registers[step][i] = a[(row + i % 2 * 8) * 32 + 8 * step + i / 2 * 4 + word];
    }
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
        wgmma_add<T, N, Eights>(sums, registers[step], plain_after(plain_operand(packed), 4 * step * step_words));
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_take(sums);
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
        d[(row + i / 2 % 2 * 8) * N + i / 4 * 8 + word * 2 + i % 2] = sums[i];
}

// B is swizzled, and the first step's product overwrites the sums.
template <class T, int N>
__device__ void wgmma_registers_swizzled_product(const u32* a, const u32* b, float* d) {
    u32* tile = dynamic_shared<u32>();
    while (reinterpret_cast<u64>(tile) % 1024 != 0)
        ++tile;
    for (int i = threadIdx.x; i < N * 32; i += 128)
        tile[i / 32 * 32 + (i % 32 ^ i / 32 % 8 * 4)] = b[i];
    fence_async_proxy();
    __syncthreads();
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    const int word = threadIdx.x % 4;
    u32 registers[4][4];
#pragma unroll
    for (int i = 0; i < 16; ++i)
        registers[i / 4][i % 4] = a[(row + i % 2 * 8) * 32 + i / 4 * 8 + i % 4 / 2 * 4 + word];
    float sums[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
        sums[i] = 3;
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
        wgmma_start<T, N>(sums, registers[step], wgmma_operand(tile, 32 * step, 1024), step > 0);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_take(sums);
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
        d[(row + i / 2 % 2 * 8) * N + i / 4 * 8 + word * 2 + i % 2] = sums[i];
}
#define TCONV_PRODUCT_OF(T, N, A, B, ...) \
    tconv::wgmma_product_of<tconv::T, N, tconv::Major::A, tconv::Major::B, __VA_ARGS__>(a, b, d)
#else
template <class T, int N, int First, int Pitch>
__device__ void wgmma_product(const u32*, const u32*, float*) {}
template <class T, int N, int Eights>
__device__ void wgmma_registers_product(const u32*, const u32*, float*) {}
template <class T, int N>
__device__ void wgmma_registers_swizzled_product(const u32*, const u32*, float*) {}
#define TCONV_PRODUCT_OF(T, N, A, B, ...)
#endif

}  // namespace tconv

extern "C" __global__ void mma_f16(const unsigned* a, const unsigned* b, float* d) {
    tconv::mma_product<tconv::f16>(a, b, d);
}
extern "C" __global__ void wgmma_f16(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::f16, 256, 0, 8>(a, b, d);
}
extern "C" __global__ void mma_bf16(const unsigned* a, const unsigned* b, float* d) {
    tconv::mma_product<tconv::bf16>(a, b, d);
}
extern "C" __global__ void wgmma_bf16(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::bf16, 256, 0, 8>(a, b, d);
}
extern "C" __global__ void mma_tf32(const unsigned* a, const unsigned* b, float* d) {
    tconv::mma_product<tconv::tf32>(a, b, d);
}
extern "C" __global__ void wgmma_tf32(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::tf32, 256, 0, 8>(a, b, d);
}
extern "C" __global__ void wgmma_bf16_32(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::bf16, 32, 3, 8>(a, b, d);
}
extern "C" __global__ void wgmma_f16_96(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::f16, 96, 0, 9>(a, b, d);
}
extern "C" __global__ void wgmma_bf16_160(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::bf16, 160, 5, 17>(a, b, d);
}
extern "C" __global__ void wgmma_tf32_64(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::tf32, 64, 21, 10>(a, b, d);
}
extern "C" __global__ void wgmma_tf32_128(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::tf32, 128, 0, 8>(a, b, d);
}
extern "C" __global__ void wgmma_f16_192(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::f16, 192, 1, 8>(a, b, d);
}
extern "C" __global__ void wgmma_bf16_224(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_product<tconv::bf16, 224, 2, 11>(a, b, d);
}
extern "C" __global__ void wgmma_f16_64_mn_a(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(f16, 64, mn, k, 8192);
}
extern "C" __global__ void wgmma_bf16_256_mn_a(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(bf16, 256, mn, k, 8192);
}
extern "C" __global__ void wgmma_bf16_64_mn_b(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(bf16, 64, k, mn, 8192);
}
extern "C" __global__ void wgmma_f16_256_mn_b(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(f16, 256, k, mn, 8192);
}
extern "C" __global__ void wgmma_f16_96_mn_b(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(f16, 96, k, mn, 8192);
}
extern "C" __global__ void wgmma_bf16_192_mn_both(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(bf16, 192, mn, mn, 11264);
}
extern "C" __global__ void wgmma_f16_128_mn_both(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(f16, 128, mn, mn, 8192);
}
extern "C" __global__ void wgmma_f16_64_mn_rows_of_32(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(f16, 64, mn, mn, 2048, 32);
}
extern "C" __global__ void wgmma_bf16_96_mn_rows_of_32(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(bf16, 96, mn, mn, 3072, 32);
}
extern "C" __global__ void wgmma_bf16_256_mn_rows_of_64(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(bf16, 256, mn, mn, 4096, 64);
}
extern "C" __global__ void wgmma_f16_64_mn_rows_of_64(const unsigned* a, const unsigned* b, float* d) {
    TCONV_PRODUCT_OF(f16, 64, mn, mn, 5120, 64);
}
extern "C" __global__ void wgmma_registers_tf32_8(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::tf32, 8, 256>(a, b, d);
}
extern "C" __global__ void wgmma_registers_bf16_16(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::bf16, 16, 512>(a, b, d);
}
extern "C" __global__ void wgmma_registers_tf32_24(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::tf32, 24, 256>(a, b, d);
}
extern "C" __global__ void wgmma_registers_f16_24(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::f16, 24, 512>(a, b, d);
}
extern "C" __global__ void wgmma_registers_bf16_32(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::bf16, 32, 256>(a, b, d);
}
extern "C" __global__ void wgmma_registers_tf32_48(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::tf32, 48, 512>(a, b, d);
}
extern "C" __global__ void wgmma_registers_f16_64(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::f16, 64, 256>(a, b, d);
}
extern "C" __global__ void wgmma_registers_tf32_96(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::tf32, 96, 256>(a, b, d);
}
extern "C" __global__ void wgmma_registers_bf16_128(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::bf16, 128, 512>(a, b, d);
}
extern "C" __global__ void wgmma_registers_f16_192(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::f16, 192, 256>(a, b, d);
}
extern "C" __global__ void wgmma_registers_tf32_256(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_product<tconv::tf32, 256, 256>(a, b, d);
}
extern "C" __global__ void wgmma_registers_swizzled_tf32_216(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_swizzled_product<tconv::tf32, 216>(a, b, d);
}
extern "C" __global__ void wgmma_registers_swizzled_tf32_256(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_swizzled_product<tconv::tf32, 256>(a, b, d);
}
extern "C" __global__ void wgmma_registers_swizzled_bf16_8(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_swizzled_product<tconv::bf16, 8>(a, b, d);
}
extern "C" __global__ void wgmma_registers_swizzled_bf16_104(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_swizzled_product<tconv::bf16, 104>(a, b, d);
}
extern "C" __global__ void wgmma_registers_swizzled_f16_32(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_swizzled_product<tconv::f16, 32>(a, b, d);
}
extern "C" __global__ void wgmma_registers_swizzled_f16_248(const unsigned* a, const unsigned* b, float* d) {
    tconv::wgmma_registers_swizzled_product<tconv::f16, 248>(a, b, d);
}
)";

/// Rows of random integers from -8 to 8, as numbers and as the words that the device reads.
struct ProductOperand {
    std::vector<float> values;
    std::vector<std::uint32_t> words;

    /// `type` is f32 for TF32.
    ProductOperand(int rows, DataType type, std::mt19937& random) {
        for (int i = 0; i < rows * k_row_words; ++i) {
            const auto draw = [&] {
                return values.emplace_back(static_cast<float>(static_cast<int>(random() % 17) - 8));
            };
            std::uint32_t word = 0;
            if (type == DataType::f32) {
                const float value = draw();
                std::memcpy(&word, &value, sizeof word);
            } else {
                word = bits_of_value(type, static_cast<double>(draw()));
                word |= static_cast<std::uint32_t>(bits_of_value(type, static_cast<double>(draw()))) << 16;
            }
            words.push_back(word);
        }
    }
};

inline std::vector<float> multiply(const ProductOperand& a, const ProductOperand& b, int rows, int columns) {
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

inline void check_product(Device& device, Module& module, const Product& one) {
    INFO(one.kernel);
    std::mt19937 random(7);
    const std::string name = one.kernel;
    const DataType type = name.find("bf16") != std::string::npos  ? DataType::bf16
                          : name.find("f16") != std::string::npos ? DataType::f16
                                                                  : DataType::f32;
    const ProductOperand a(one.rows, type, random);
    const ProductOperand b(one.columns, type, random);
    std::vector<float> found(static_cast<std::size_t>(one.rows) * static_cast<std::size_t>(one.columns));
    const DeviceMemory a_memory(device, a.words.size() * 4);
    const DeviceMemory b_memory(device, b.words.size() * 4);
    const DeviceMemory d_memory(device, found.size() * 4);
    device.copy_to_device(a_memory.address(), a.words.data(), a.words.size() * 4);
    device.copy_to_device(b_memory.address(), b.words.data(), b.words.size() * 4);
    DevicePointer a_address = a_memory.address();
    DevicePointer b_address = b_memory.address();
    DevicePointer d_address = d_memory.address();
    std::array<void*, 3> arguments{&a_address, &b_address, &d_address};
    device.launch(module, name, {{1, 1, 1}, {one.threads, 1, 1}, 64 << 10}, arguments.data(), nullptr);
    device.copy_to_host(found.data(), d_address, found.size() * 4);
    CHECK(found == multiply(a, b, one.rows, one.columns));
}

}  // namespace tconv::test
