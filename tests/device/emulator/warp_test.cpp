// Shuffles and votes against the tables of the CUDA guide, worked out lane by lane.

#include "emulator_for_tests.hpp"
#include "tests/catch.hpp"

namespace tconv {
namespace {

constexpr const char* k_source = R"(
extern "C" __global__ void shuffles(int kind, int argument, int width, int* out) {
    const int value = 100 + threadIdx.x;
    int result = 0;
    if (kind == 0) result = __shfl_sync(0xffffffffu, value, argument, width);
    if (kind == 1) result = __shfl_up_sync(0xffffffffu, value, argument, width);
    if (kind == 2) result = __shfl_down_sync(0xffffffffu, value, argument, width);
    if (kind == 3) result = __shfl_xor_sync(0xffffffffu, value, argument, width);
    out[threadIdx.x] = result;
}
extern "C" __global__ void types(double* out) {
    const int lane = threadIdx.x % 32;
    out[4 * threadIdx.x] = __shfl_sync(0xffffffffu, lane + 0.25, lane ^ 1);
    out[4 * threadIdx.x + 1] = __shfl_sync(0xffffffffu, lane + 0.5f, lane ^ 1);
    out[4 * threadIdx.x + 2] = static_cast<double>(__shfl_sync(0xffffffffu, (1ll << 40) * lane, lane ^ 1));
    out[4 * threadIdx.x + 3] = __shfl_sync(0xffffffffu, 0xff000000u + lane, lane ^ 1);
}
extern "C" __global__ void votes(unsigned* out) {
    unsigned* mine = out + 4 * (threadIdx.x + blockDim.x * threadIdx.y);
    const unsigned mask = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
    mine[0] = __ballot_sync(mask, threadIdx.x % 3 == 0);
    mine[1] = __any_sync(mask, threadIdx.x == 20);
    mine[2] = __all_sync(mask, threadIdx.x >= 16);
    __syncwarp();
    mine[3] = __ballot_sync(0xffffffffu, threadIdx.y == 1);
}
extern "C" __global__ void partial_warp(int* out) {
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, static_cast<int>(threadIdx.x), 1);
    out[threadIdx.x] += 1000 * __all_sync(0xffffffffu, 1);
}
extern "C" __global__ void outside(float* out) {
    if (threadIdx.x < 4) out[threadIdx.x] = __shfl_sync(0xfu, 1.0f, threadIdx.x + 2);
}
)";

CompiledCode warp_kernels() {
    return compile_or_fail(k_source, {"shuffles", "types", "votes", "partial_warp", "outside"});
}

/// The lane that a shuffle reads, from the guide's descriptions.
int source_lane(int kind, int lane, int argument, int width) {
    const int segment = lane / width * width;
    const int within = lane % width;
    switch (kind) {
        case 0:
            return segment + (argument % width + width) % width;
        case 1:
            return within - argument < 0 ? lane : lane - argument;
        case 2:
            return within + argument >= width ? lane : lane + argument;
        default:
            return (lane ^ argument) >= segment + width ? lane : lane ^ argument;
    }
}

}  // namespace

TEST_CASE("shuffles read the lane that the guide says, for every width") {
    const auto device = make_emulator();
    const auto module = device->load(warp_kernels());
    const Buffer<int> out(*device, 64);
    for (int kind = 0; kind < 4; ++kind) {
        for (const int width : {1, 2, 4, 8, 16, 32}) {
            for (const int argument : {0, 1, 3, 8, 15, 16, 31}) {
                launch(*device, *module, "shuffles", {{1, 1, 1}, {64, 1, 1}, 0}, kind, argument, width, out.pointer());
                const auto values = out.values();
                for (int thread = 0; thread < 64; ++thread) {
                    INFO("kind " << kind << " width " << width << " argument " << argument << " thread " << thread);
                    REQUIRE(values[thread] == 100 + thread / 32 * 32 + source_lane(kind, thread % 32, argument, width));
                }
            }
        }
    }
}

TEST_CASE("shuffles carry every type of four and eight bytes") {
    const auto device = make_emulator();
    const auto module = device->load(warp_kernels());
    const Buffer<double> out(*device, 4 * 64);
    launch(*device, *module, "types", {{1, 1, 1}, {64, 1, 1}, 0}, out.pointer());
    const auto values = out.values();
    for (int thread = 0; thread < 64; ++thread) {
        const int other = thread % 32 ^ 1;
        REQUIRE(values[4 * thread] == other + 0.25);
        REQUIRE(values[4 * thread + 1] == other + 0.5);
        REQUIRE(values[4 * thread + 2] == other * 1099511627776.0);
        REQUIRE(values[4 * thread + 3] == 4278190080.0 + other);
    }
}

TEST_CASE("votes count the lanes of their mask, in warps of a 2-D block") {
    const auto device = make_emulator();
    const auto module = device->load(warp_kernels());
    const Buffer<unsigned> out(*device, 4 * 64);
    launch(*device, *module, "votes", {{1, 1, 1}, {32, 2, 1}, 0}, out.pointer());
    const auto values = out.values();
    unsigned thirds = 0;
    for (unsigned lane = 0; lane < 32; lane += 3)
        thirds |= 1u << lane;
    for (unsigned thread = 0; thread < 64; ++thread) {
        const bool low = thread % 32 < 16;
        REQUIRE(values[4 * thread] == (thirds & (low ? 0xffffu : 0xffff0000u)));
        REQUIRE(values[4 * thread + 1] == (low ? 0u : 1u));
        REQUIRE(values[4 * thread + 2] == (low ? 0u : 1u));
        REQUIRE(values[4 * thread + 3] == (thread < 32 ? 0u : 0xffffffffu));
    }
}

TEST_CASE("a full mask in a warp that the block does not fill means the lanes there are") {
    const auto device = make_emulator();
    const auto module = device->load(warp_kernels());
    const Buffer<int> out(*device, 40);
    launch(*device, *module, "partial_warp", {{1, 1, 1}, {40, 1, 1}, 0}, out.pointer());
    const auto values = out.values();
    for (int thread = 0; thread < 40; ++thread)
        REQUIRE(values[thread] == 1000 + (thread ^ 1));
}

TEST_CASE("a shuffle from a lane outside its mask gives no number") {
    const auto device = make_emulator();
    const auto module = device->load(warp_kernels());
    const Buffer<float> out(*device, 4);
    launch(*device, *module, "outside", {{1, 1, 1}, {32, 1, 1}, 0}, out.pointer());
    const auto values = out.values();
    CHECK(values[0] == 1.0f);
    CHECK(values[1] == 1.0f);
    CHECK(values[2] != values[2]);
    CHECK(values[3] != values[3]);
}

}  // namespace tconv
