// The weights of a thread: straight from the tensor to registers, or, where neighbouring threads have other channels,
// by way of shared memory.
#pragma once

#include "box_shape.cuh"
#include "element_vectors.cuh"

namespace tconv::box {

/// The weights of a tap: [group][input channel][output channel].
struct TapWeights {
    float values[products];
};

/// Channels first. All threads of a plane read the same addresses.
struct PlaneWeights {
    static constexpr bool held = products * taps <= 128;
    /// Weights of a plane are whole vectors, as is the tensor up to there.
    static constexpr int width = taps % config::load_vector == 0            ? config::load_vector
                                 : taps % 2 == 0 && config::load_vector > 1 ? 2
                                                                            : 1;

    const Element* first;  // of the plane
    float values[held ? products : 1][held ? taps : 1];

    __device__ __forceinline__ explicit PlaneWeights(const Element* weight, const Place& thread)
        : first(weight + static_cast<i64>(group_of(thread) * static_cast<Index>(in_group * out_group) +
                                          thread.plane % group_planes * channels) *
                             taps) {
        if (held && thread.plane < static_cast<Index>(planes)) {
#pragma unroll
            for (int product = 0; product < products; ++product) {
#pragma unroll
                for (int tap = 0; tap < taps; tap += width) {
                    const Vector<width> vector = load_vector<width>(address(product, tap));
#pragma unroll
                    for (int i = 0; i < width; ++i)
                        values[held ? product : 0][held ? tap + i : 0] = element_of(vector, i);
                }
            }
        }
    }
    __device__ __forceinline__ const Element* address(int product, int tap) const {
        return first + weight_offset<int>(false, product / channels, product % channels, tap, out_group, taps);
    }
    __device__ __forceinline__ TapWeights operator()(int tap) const {
        TapWeights weights;
#pragma unroll
        for (int product = 0; product < products; ++product)
            weights.values[product] =
                held ? values[held ? product : 0][held ? tap : 0] : to_float(load_readonly(address(product, tap)));
        return weights;
    }
};

/// Channels last. Shared memory holds the weights of the block's groups in fp32 so that a thread reads vectors of those
/// of a tap, and neighbouring threads neighbouring vectors: [tap][vector][thread].
struct SharedWeights {
    static constexpr int width = products % 4 == 0 ? 4 : products % 2 == 0 ? 2 : 1;
    static constexpr int vectors = products / width;

    const float* first;  // of the thread

    __device__ __forceinline__ static int place(int lane, int product, int tap) {
        return ((tap * vectors + product / width) * tile_planes + lane) * width + product % width;
    }
    /// All threads of the block together, before a barrier.
    __device__ __forceinline__ static void stage(float* shared, const Element* weight, const Block& block) {
        const Index first = block.plane * static_cast<Index>(products * taps);
        const Index left = (static_cast<Index>(planes) - block.plane) * static_cast<Index>(products * taps);
        const int count = left < tile_planes * products * taps ? static_cast<int>(left) : tile_planes * products * taps;
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x); i < count; i += threads) {
            // As they lie in memory: [input channel of the block][tap][output channel].
            const int product = i / (taps * out_group) * out_group + i % out_group;
            shared[place(product / products, product % products, i / out_group % taps)] =
                to_float(load_readonly(weight + first + i));
        }
    }
    __device__ __forceinline__ explicit SharedWeights(const float* shared, const Place& thread)
        : first(shared + static_cast<int>(thread.plane % tile_planes) * width) {}

    __device__ __forceinline__ TapWeights operator()(int tap) const {
        TapWeights weights;
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            const Floats<width> vector = load<width>(first + (tap * vectors + i) * (tile_planes * width));
#pragma unroll
            for (int j = 0; j < width; ++j)
                weights.values[i * width + j] = vector.v[j];
        }
        return weights;
    }
};

}  // namespace tconv::box
