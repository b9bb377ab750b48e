#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernel_sources/sources.hpp"
#include "tests/catch.hpp"
#include "tests/support/emulated.hpp"

// The instructions behind warp_matrices.cuh against what their functions say, on a GPU and in the emulator.
namespace tconv::test {

/// Each lane has its own rows, to read and to write.
inline std::string matrices_source() {
    return expand_includes("warp_matrices.cuh") + R"(
extern "C" __global__ void turn_matrices(const unsigned* in, const int* from, const int* to, unsigned* out, int past) {
#if defined(TCONV_EMULATOR) || __CUDA_ARCH__ >= 900
    using namespace tconv;
    u32* source = dynamic_shared<u32>();
    u32* target = source + 32 * 4;
    for (int i = threadIdx.x; i < 32 * 4; i += 32)
        source[i] = in[i];
    __syncwarp();
    const Matrices matrices = load_matrices_turned(source + from[threadIdx.x] * 4 + past);
    store_matrices(target + to[threadIdx.x] * 4, matrices);
    __syncwarp();
    for (int i = threadIdx.x; i < 32 * 4; i += 32)
        out[i] = target[i];
#endif
}
)";
}

struct TurnedRows {
    std::vector<std::uint16_t> in = std::vector<std::uint16_t>(256);
    std::vector<std::int32_t> from = std::vector<std::int32_t>(32);
    std::vector<std::int32_t> to = std::vector<std::int32_t>(32);

    explicit TurnedRows(std::uint32_t seed) {
        std::mt19937 random(seed);
        std::iota(in.begin(), in.end(), std::uint16_t{1000});
        std::iota(from.begin(), from.end(), 0);
        std::iota(to.begin(), to.end(), 0);
        std::shuffle(from.begin(), from.end(), random);
        std::shuffle(to.begin(), to.end(), random);
    }
    [[nodiscard]] std::vector<std::uint16_t> expected() const {
        std::vector<std::uint16_t> out(256);
        for (std::size_t lane = 0; lane < 32; ++lane) {
            for (std::size_t k = 0; k < 8; ++k) {
                const auto read = static_cast<std::size_t>(from[lane / 8 * 8 + k]);
                const auto written = static_cast<std::size_t>(to[lane]);
                out[written * 8 + k] = in[read * 8 + lane % 8];
            }
        }
        return out;
    }
    /// By a module of matrices_source(); rows are read `past` words behind their beginning.
    [[nodiscard]] std::vector<std::uint16_t> run(Device& device, Module& module, int past = 0) const {
        const OnDevice in_memory(device, in);
        const OnDevice from_memory(device, from);
        const OnDevice to_memory(device, to);
        const OnDevice out_memory(device, std::vector<std::uint16_t>(256));
        std::array<DevicePointer, 4> addresses{in_memory.address(), from_memory.address(), to_memory.address(),
                                               out_memory.address()};
        std::array<void*, 5> arguments{&addresses[0], &addresses[1], &addresses[2], &addresses[3], &past};
        device.launch(module, "turn_matrices", {{1, 1, 1}, {32, 1, 1}, 2 * 32 * 16}, arguments.data(), nullptr);
        return out_memory.read();
    }
};

}  // namespace tconv::test
