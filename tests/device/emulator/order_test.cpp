#include "device/emulator/random_order.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "emulator_for_tests.hpp"
#include "tests/catch.hpp"

namespace tconv {
namespace {

constexpr const char* k_source = R"(
extern "C" __global__ void last_writer(int* out) { out[blockIdx.x] = threadIdx.x; }
extern "C" __global__ void missing_barrier(int* out) {
    __shared__ int tile[64];
    tile[threadIdx.x] = threadIdx.x;
    out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void with_barrier(int* out) {
    __shared__ int tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void block_order(int* next, int* out) {
    if (threadIdx.x == 0) out[atomicAdd(next, 1)] = blockIdx.x;
}
)";

CompiledCode order_kernels() {
    return compile_or_fail(k_source, {"last_writer", "missing_barrier", "with_barrier", "block_order"});
}

/// What `kernel` leaves after each of `launches` launches on a fresh device.
std::vector<std::vector<int>> results_of(const std::string& kernel, int launches, const EmulatorOptions& options) {
    const auto device = make_emulator(options);
    const auto module = device->load(order_kernels());
    std::vector<std::vector<int>> results;
    for (int i = 0; i < launches; ++i) {
        const Buffer<int> out(*device, 8 * 64, -1);
        launch(*device, *module, kernel, {{8, 1, 1}, {64, 1, 1}, 0}, out.pointer());
        results.push_back(out.values());
    }
    return results;
}

}  // namespace

TEST_CASE("a race shows as results that differ from launch to launch") {
    for (const char* kernel : {"last_writer", "missing_barrier"}) {
        const auto results = results_of(kernel, 5, {});
        const std::set<std::vector<int>> distinct(results.begin(), results.end());
        CHECK(distinct.size() == 5);
    }
    const auto results = results_of("with_barrier", 5, {});
    CHECK(std::set<std::vector<int>>(results.begin(), results.end()).size() == 1);
}

TEST_CASE("the order depends on the seed and the launch, not on the number of workers") {
    EmulatorOptions options;
    options.workers = 1;
    const auto first = results_of("missing_barrier", 4, options);
    CHECK(results_of("missing_barrier", 4, options) == first);
    options.workers = 5;
    CHECK(results_of("missing_barrier", 4, options) == first);
    options.seed = 2;
    CHECK(results_of("missing_barrier", 4, options) != first);
}

TEST_CASE("blocks run in an order that changes too") {
    EmulatorOptions options;
    options.workers = 1;
    const auto device = make_emulator(options);
    const auto module = device->load(order_kernels());
    std::set<std::vector<int>> orders;
    for (int i = 0; i < 4; ++i) {
        const Buffer<int> next(*device, 1);
        const Buffer<int> out(*device, 97);
        launch(*device, *module, "block_order", {{97, 1, 1}, {4, 1, 1}, 0}, next.pointer(), out.pointer());
        auto order = out.values();
        orders.insert(order);
        std::sort(order.begin(), order.end());
        std::vector<int> all(97);
        std::iota(all.begin(), all.end(), 0);
        REQUIRE(order == all);
    }
    CHECK(orders.size() == 4);
}

TEST_CASE("an order of blocks holds each exactly once") {
    for (const std::uint64_t count : {1, 2, 3, 4, 60, 97, 1024}) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const emulator::BlockOrder order(count, seed);
            std::set<std::uint64_t> seen;
            for (std::uint64_t i = 0; i < count; ++i)
                seen.insert(order.at(i));
            REQUIRE(seen.size() == count);
            REQUIRE(*seen.rbegin() == count - 1);
        }
    }
    const emulator::BlockOrder huge(std::uint64_t{2147483647} * 65535 * 65535, 3);
    CHECK(huge.at(1) != huge.at(2));
}

}  // namespace tconv
