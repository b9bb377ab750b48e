#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/tensor_map.hpp"
#include "device/device.hpp"
#include "kernel_sources/sources.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/random_problem.hpp"

namespace tconv::test {

/// One copy of a box: which, from where, and how far the destination lies behind a multiple of 1024.
struct BoxCase {
    TensorMap map;
    std::array<int, 5> corner{};
    int shift = 0;  ///< a multiple of 128
};

/// Kernels load_box_1 to load_box_5: one copy each, whose bytes in shared memory go to `out`.
[[nodiscard]] inline std::string load_box_source() {
    std::string text = expand_includes("tma.cuh") + R"cuda(
struct Case { long long corner[5], shift, bytes; };
using namespace tconv;
template <int N>
__device__ void load_box(const TensorMap& map, u32* out, const Case& c) {
    __shared__ Barrier barrier;
    unsigned char* target = dynamic_shared<unsigned char>() + c.shift;
    const int words = static_cast<int>(c.bytes / 4);
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        reinterpret_cast<u32*>(target)[i] = 0xabababab;
    if (threadIdx.x == 0) {
        tma_prefetch_map(map);
        barrier_init(barrier, 1);
    }
    barrier_init_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_arrive_and_expect(barrier, static_cast<u32>(c.bytes));
        int corner[N];
        for (int i = 0; i < N; ++i)
            corner[i] = static_cast<int>(c.corner[i]);
        tma_load_box(target, map, barrier, corner);
    }
    barrier_wait(barrier, 0);
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        out[i] = reinterpret_cast<u32*>(target)[i];
}
)cuda";
    for (const char* n : {"1", "2", "3", "4", "5"}) {
        text += std::string("extern \"C\" __global__ void load_box_") + n +
                "(const __grid_constant__ TensorMap map, u32* out, Case c) { load_box<" + n + ">(map, out, c); }\n";
    }
    return text;
}

[[nodiscard]] inline std::vector<std::string> load_box_kernels() {
    return {"load_box_1", "load_box_2", "load_box_3", "load_box_4", "load_box_5"};
}

/// The array's memory: random bytes, with numbers of every kind where they are floats.
[[nodiscard]] inline std::vector<unsigned char> array_bytes(Draw& draw, const TensorMap& map) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(span_bytes(map)));
    for (unsigned char& byte : bytes)
        byte = static_cast<unsigned char>(draw.between(0, 255));
    return bytes;
}

/// What the box is in shared memory, from the definition: element by element, and then piece by piece.
[[nodiscard]] inline std::vector<unsigned char> expected_box(const BoxCase& c,
                                                             const std::vector<unsigned char>& array) {
    const TensorMap& map = c.map;
    const auto size = static_cast<std::size_t>(size_of(map.element));
    std::vector<unsigned char> result(static_cast<std::size_t>(box_bytes(map)));
    for (std::size_t offset = 0; offset < result.size(); offset += size) {
        std::size_t rest = offset / size;
        std::int64_t source = 0;
        bool inside = true;
        for (std::size_t d = 0; d < map.extents.size(); ++d) {
            const auto extent = static_cast<std::size_t>(map.box[d]);
            const std::int64_t at = c.corner[d] + static_cast<std::int64_t>(rest % extent);
            rest /= extent;
            inside = inside && at >= 0 && at < map.extents[d];
            source += at * (d == 0 ? static_cast<std::int64_t>(size) : map.strides[d - 1]);
        }
        std::array<unsigned char, 4> element{};
        if (inside) std::memcpy(element.data(), &array[static_cast<std::size_t>(source)], size);
        if (map.element == MapElement::tf32) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, element.data(), 4);
            if ((bits & 0x7f800000U) != 0x7f800000U) {
                const std::uint32_t below = bits & 0x1fffU;
                bits -= below;
                if (below > 0x1000U || (below == 0x1000U && (bits & 0x2000U) != 0)) bits += 0x2000U;
            }
            std::memcpy(element.data(), &bits, 4);
        }
        // Of the pieces of 16 bytes in a line of 128, those of the line's number are exchanged.
        const std::size_t place = offset + static_cast<std::size_t>(c.shift);
        const std::size_t line = place / 128;
        const std::size_t pieces = static_cast<std::size_t>(map.swizzle) / 16;
        const std::size_t piece = pieces == 0 ? place / 16 % 8 : (place / 16 % 8) ^ (line % pieces);
        const std::size_t target = line * 128 + piece * 16 + place % 16 - static_cast<std::size_t>(c.shift);
        std::memcpy(&result[target], element.data(), size);
    }
    return result;
}

/// A random map of `dimensions` dimensions with a small array, and a corner in or near it.
[[nodiscard]] inline BoxCase draw_box(Draw& draw, std::size_t dimensions) {
    BoxCase c;
    TensorMap& map = c.map;
    constexpr std::array elements{MapElement::f32, MapElement::tf32, MapElement::f16, MapElement::bf16, MapElement::u8};
    constexpr std::array<std::int64_t, 4> swizzles{0, 32, 64, 128};
    map.element = elements.at(static_cast<std::size_t>(draw.between(0, 4)));
    map.swizzle = swizzles.at(static_cast<std::size_t>(draw.between(0, 3)));
    const std::int64_t size = size_of(map.element);
    const std::int64_t row = map.swizzle > 0 ? map.swizzle : 16 * draw.between(1, 6);
    std::int64_t stride = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
        map.extents.push_back(draw.between(1, d == 0 ? 40 : 7));
        map.box.push_back(d == 0 ? row / size : draw.between(1, dimensions > 3 ? 3 : 6));
        if (d > 0) {
            const std::int64_t least = d == 1 ? map.extents[0] * size : stride * map.extents[d - 1];
            stride = (least + 15) / 16 * 16 + 16 * draw.between(0, 2);
            map.strides.push_back(stride);
        }
        const std::int64_t step = d == 0 ? 16 / size : 1;  // a row is read from a multiple of 16 bytes on
        c.corner.at(d) = static_cast<int>(draw.between(-map.box[d] / step, map.extents[d] / step) * step);
    }
    c.shift = static_cast<int>(128 * draw.between(0, 8));
    return c;
}

/// The bytes that a device's copy engine writes.
[[nodiscard]] inline std::vector<unsigned char> loaded_box(Device& device, Module& module, const BoxCase& c,
                                                           const std::vector<unsigned char>& array) {
    const OnDevice memory(device, array);
    const std::int64_t bytes = box_bytes(c.map);
    const OnDevice out(device, std::vector<unsigned char>(static_cast<std::size_t>(bytes)));
    EncodedTensorMap map = device.encode(c.map, 1, memory.address());
    DevicePointer target = out.address();
    std::array<std::int64_t, 7> numbers{c.corner[0], c.corner[1], c.corner[2], c.corner[3],
                                        c.corner[4], c.shift,     bytes};
    std::array<void*, 3> arguments{&map, &target, numbers.data()};
    device.launch(module, "load_box_" + std::to_string(c.map.extents.size()), {{1, 1, 1}, {32, 1, 1}, bytes + c.shift},
                  arguments.data(), nullptr);
    device.synchronize();
    return out.read();
}

/// A kernel that copies its input to its output by way of boxes of 8 x 4 floats, for arrays of `rows` rows of 32 a
/// batch entry that follow each other: the arguments are the map, the output and the batch.
[[nodiscard]] inline std::string copy_source() {
    return expand_includes("tma.cuh") + R"cuda(
using namespace tconv;
extern "C" __global__ void copy(const __grid_constant__ TensorMap map, float* out, int batch) {
    __shared__ Barrier barrier;
    __shared__ __align__(1024) float box[4 * 8];
    if (threadIdx.x == 0) {
        barrier_init(barrier, 1);
        barrier_init_fence();
    }
    __syncthreads();
    const int y = static_cast<int>(blockIdx.y) * 4;
    const int rows = 6 * batch;
    for (int step = 0; step < 4; ++step) {
        if (threadIdx.x == 0) {
            barrier_arrive_and_expect(barrier, sizeof box);
            tma_load_box(box, map, barrier, {step * 8, y});
        }
        barrier_wait(barrier, step % 2);
        const int row = y + static_cast<int>(threadIdx.x) / 8;
        if (row < rows) out[row * 32 + step * 8 + threadIdx.x % 8] = box[threadIdx.x];
        __syncthreads();
    }
}
)cuda";
}

/// An input of 6 rows of 32 floats a batch entry.
[[nodiscard]] inline Problem copy_problem(std::int64_t batch) {
    Problem problem;
    problem.batch = batch;
    problem.in_channels = problem.out_channels = 1;
    problem.input = {1, 6, 32};
    problem.kernel = {1, 1, 1};
    return problem;
}

[[nodiscard]] inline LaunchPlan copy_plan() {
    Argument map;
    map.kind = ArgumentKind::tensor_map;
    map.mapped = ArgumentKind::input;
    map.map = {MapElement::f32, {32, 6}, {128}, {8, 4}, 0, 1, 128};
    Launch launch;
    launch.kernel = "copy";
    launch.grid = {1, 2, 1};  // 6 rows in boxes of 4
    launch.batch_axis = 1;
    launch.block = {32, 1, 1};
    launch.arguments = {map, {ArgumentKind::output, 0, {}}, {ArgumentKind::batch, 0, {}}};
    LaunchPlan plan;
    plan.source_file = "direct.cu";
    plan.launches = {launch};
    return plan;
}

}  // namespace tconv::test
