#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor_map.hpp"
#include "device/device.hpp"
#include "kernel_sources/sources.hpp"
#include "tests/support/emulated.hpp"

namespace tconv::test {

/// Blocks of a cluster that fill a ring of stages for each other: chunk after chunk of 64 floats, of which each block
/// loads a part for all, or which they load in turn as boxes. Lane i of a block adds up numbers i and i + 32 of each
/// chunk, times the chunk's number (from 1).
[[nodiscard]] inline std::string cluster_ring_source() {
    return expand_includes("cluster.cuh") + R"cuda(
using namespace tconv;
constexpr int stages = 3;
constexpr int chunk_floats = 64;
struct Ring {
    float values[stages][chunk_floats];
    Barrier full[stages], empty[stages];
};
__device__ void load(Ring& ring, const TensorMap& map, const float* in, int chunk, int blocks, bool boxes) {
    const int stage = chunk % stages;
    const int rank = blockIdx.x % blocks;
    const u16 all = static_cast<u16>((1 << blocks) - 1);
    barrier_wait(ring.empty[stage], chunk / stages % 2 ^ 1);
    barrier_arrive_and_expect(ring.full[stage], 4 * chunk_floats);
    if (boxes) {
        if (chunk % blocks == rank) tma_load_box_to(all, ring.values[stage], map, ring.full[stage], {0, chunk});
    } else {
        const int part = chunk_floats / blocks;
        tma_load_bytes_to(all, ring.values[stage] + rank * part, in + chunk * chunk_floats + rank * part, 4 * part,
                          ring.full[stage]);
    }
}
extern "C" __global__ void cluster_ring(const __grid_constant__ TensorMap map, const float* in, float* out, int chunks,
                                        int blocks, int boxes) {
    Ring& ring = *dynamic_shared<Ring>();
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) {
            barrier_init(ring.full[s], 1);
            barrier_init(ring.empty[s], blocks);
        }
        barrier_init_fence();
    }
    cluster_sync();
    if (threadIdx.x == 32) {
        for (int chunk = 0; chunk < chunks; ++chunk)
            load(ring, map, in, chunk, blocks, boxes != 0);
    } else if (threadIdx.x < 32) {
        float sum = 0;
        for (int chunk = 0; chunk < chunks; ++chunk) {
            const int stage = chunk % stages;
            barrier_wait(ring.full[stage], chunk / stages % 2);
            sum += (ring.values[stage][threadIdx.x] + ring.values[stage][threadIdx.x + 32]) * (chunk + 1);
            __syncwarp();
            if (threadIdx.x < blocks) barrier_arrive_in_cluster(ring.empty[stage], threadIdx.x);
        }
        out[blockIdx.x * 32 + threadIdx.x] = sum;
    }
    cluster_sync();  // at the end
}
)cuda";
}

struct ClusterRingCase {
    int clusters = 1;
    int blocks = 2;  ///< of a cluster: 1, 2, 4 or 8
    int chunks = 1;
    bool boxes = false;
};

[[nodiscard]] inline std::vector<float> cluster_ring_input(int chunks) {
    std::vector<float> values(static_cast<std::size_t>(chunks) * 64);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i * 7 % 23);
    return values;
}

[[nodiscard]] inline std::vector<float> expected_of_ring(const ClusterRingCase& c) {
    const std::vector<float> in = cluster_ring_input(c.chunks);
    std::vector<float> block(32);
    for (std::size_t i = 0; i < in.size(); ++i)
        block[i % 32] += in[i] * static_cast<float>(i / 64 + 1);
    std::vector<float> all;
    for (int i = 0; i < c.clusters * c.blocks; ++i)
        all.insert(all.end(), block.begin(), block.end());
    return all;
}

/// What cluster_ring computes on a device.
[[nodiscard]] inline std::vector<float> run_cluster_ring(Device& device, Module& module, const ClusterRingCase& c) {
    const OnDevice in(device, cluster_ring_input(c.chunks));
    const OnDevice out(device, std::vector<float>(static_cast<std::size_t>(c.clusters) * c.blocks * 32));
    const TensorMap map{MapElement::f32, {64, c.chunks}, {256}, {64, 1}, 0, -1, 128};
    EncodedTensorMap encoded = device.encode(map, 1, in.address());
    DevicePointer from = in.address();
    DevicePointer to = out.address();
    int chunks = c.chunks;
    int blocks = c.blocks;
    int boxes = c.boxes ? 1 : 0;
    std::array<void*, 6> arguments{&encoded, &from, &to, &chunks, &blocks, &boxes};
    LaunchGeometry geometry{{c.clusters * c.blocks, 1, 1}, {64, 1, 1}, 1024};
    geometry.cluster = c.blocks;
    device.launch(module, "cluster_ring", geometry, arguments.data(), nullptr);
    device.synchronize();
    return out.read();
}

}  // namespace tconv::test
