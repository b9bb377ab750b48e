#include <cmath>

#include "device/emulator/pending_copies.hpp"
#include "emulator_for_tests.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

namespace tconv {
namespace {

constexpr const char* k_source = R"(
extern "C" __global__ void wait_or_not(const float* in, float* out, int wait) {
    float* tile = tconv::dynamic_shared<float>();
    tile[threadIdx.x] = -1;
    tconv::copy_async<4>(tile + threadIdx.x, in + threadIdx.x, threadIdx.x != 3);
    tconv::copy_async_commit();
    if (wait) tconv::copy_async_wait<0>();
    out[threadIdx.x] = tile[threadIdx.x];
}
extern "C" __global__ void two_groups(const float* in, float* out) {
    float* tile = tconv::dynamic_shared<float>();
    for (int i = 0; i < 12; ++i) tile[i] = -1;
    tconv::copy_async<16>(tile, in, true);
    tconv::copy_async_commit();
    tconv::copy_async<16>(tile + 4, in + 4, true);
    tconv::copy_async<8>(tile + 8, in + 8, true);
    tconv::copy_async_commit();
    tconv::copy_async<8>(tile + 10, in + 10, true);
    tconv::copy_async_wait<1>();
    for (int i = 0; i < 12; ++i) out[i] = tile[i];
    tconv::copy_async_wait<0>();
    for (int i = 0; i < 12; ++i) out[12 + i] = tile[i];
}
extern "C" __global__ void aligned_copy(const float* in, float* out, int to, int from, int valid) {
    float* tile = tconv::dynamic_shared<float>();
    tconv::copy_async<16>(tile + to, in + from, valid != 0);
    tconv::copy_async_commit();
    tconv::copy_async_wait<0>();
    out[0] = tile[to];
}
extern "C" __global__ void vectors(const float* in, float* out, int from, int to) {
    const tconv::Floats<4> value = tconv::load<4>(in + from);
    tconv::store<2>(out + to, {{value.v[3], value.v[2]}});
    tconv::store<2>(out + to + 2, tconv::load_readonly<2>(in + from));
    tconv::store<1>(out + to + 4, tconv::load<1>(in + from + 1));
}
)";

CompiledCode copies() {
    return compile_or_fail(k_source, {"wait_or_not", "two_groups", "aligned_copy", "vectors"}, true);
}

std::vector<float> counting(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(i + 1);
    return values;
}

}  // namespace

TEST_CASE("an asynchronous copy arrives when it is waited for and not before") {
    const auto device = make_emulator();
    const auto module = device->load(copies());
    const Buffer<float> in(*device, counting(8));
    const Buffer<float> out(*device, 8);
    launch(*device, *module, "wait_or_not", {{1, 1, 1}, {8, 1, 1}, 32}, in.pointer(), out.pointer(), 0);
    CHECK(out.values() == std::vector<float>(8, -1.0f));
    launch(*device, *module, "wait_or_not", {{1, 1, 1}, {8, 1, 1}, 32}, in.pointer(), out.pointer(), 1);
    CHECK(out.values() == std::vector<float>{1, 2, 3, 0, 5, 6, 7, 8});
}

TEST_CASE("waiting for all but one group leaves the last group and what has no group") {
    const auto device = make_emulator();
    const auto module = device->load(copies());
    const Buffer<float> in(*device, counting(12));
    const Buffer<float> out(*device, 24);
    launch(*device, *module, "two_groups", {{1, 1, 1}, {1, 1, 1}, 48}, in.pointer(), out.pointer());
    CHECK(out.values() ==
          std::vector<float>{1, 2, 3, 4, -1, -1, -1, -1, -1, -1, -1, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -1, -1});
}

TEST_CASE("a copy that is not valid does not look at its source") {
    const auto device = make_emulator();
    const auto module = device->load(copies());
    const Buffer<float> out(*device, 1, 5.0f);
    launch(*device, *module, "aligned_copy", {{1, 1, 1}, {1, 1, 1}, 32}, DevicePointer{0}, out.pointer(), 0, 0, 0);
    CHECK(out.values()[0] == 0.0f);
}

TEST_CASE("a misaligned copy ends the launch and names the line") {
    const auto device = make_emulator();
    const auto module = device->load(copies());
    const Buffer<float> in(*device, counting(8));
    const Buffer<float> out(*device, 1);
    const LaunchGeometry geometry{{1, 1, 1}, {1, 1, 1}, 64};
    const auto run = [&](int to, int from) {
        launch(*device, *module, "aligned_copy", geometry, in.pointer(), out.pointer(), to, from, 1);
    };
    CHECK(
        failure_of([&] { run(2, 0); }) ==
        "kernel aligned_copy: block (0,0,0), thread (0,0,0): misaligned destination of an asynchronous copy (line 26): "
        "its address is 8 bytes past a multiple of 16");
    CHECK_THAT(failure_of([&] { run(0, 1); }), contains("misaligned source of an asynchronous copy (line 26)"));
    run(4, 4);
    CHECK(out.values()[0] == 5.0f);
}

TEST_CASE("vector accesses move their elements and are refused where hardware faults") {
    const auto device = make_emulator();
    const auto module = device->load(copies());
    const Buffer<float> in(*device, counting(16));
    const Buffer<float> out(*device, 16);
    const auto run = [&](int from, int to) {
        launch(*device, *module, "vectors", {}, in.pointer(), out.pointer(), from, to);
    };
    run(4, 2);
    const auto values = out.values();
    CHECK(std::vector<float>(values.begin(), values.begin() + 7) == std::vector<float>{0, 0, 8, 7, 5, 6, 6});
    CHECK_THAT(failure_of([&] { run(2, 2); }),
               contains("misaligned vector load (line 32): its address is 8 bytes past"));
    CHECK_THAT(failure_of([&] { run(4, 1); }),
               contains("misaligned vector store (line 33): its address is 4 bytes past"));
    CHECK_NOTHROW(run(8, 4));
}

TEST_CASE("a thread's pending copies are dropped at its end") {
    int from = 1;
    int to = 0;
    emulator::PendingCopies copies;
    copies.start(&to, &from, sizeof to);
    copies.commit();
    copies.clear();
    copies.wait(0);
    CHECK(to == 0);
    copies.start(&to, &from, sizeof to);
    copies.wait(0);
    CHECK(to == 0);
    copies.commit();
    from = 2;
    copies.wait(0);
    CHECK(to == 2);
}

}  // namespace tconv
