#include "device/emulator/launch_check.hpp"

#include "core/error.hpp"
#include "emulator_for_tests.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

namespace tconv {

TEST_CASE("a launch within all limits passes") {
    const EmulatorOptions options;
    CHECK_NOTHROW(emulator::check_launch("k", {}, 0, options));
    CHECK_NOTHROW(emulator::check_launch("k", {{2147483647, 65535, 65535}, {1024, 1, 1}, 232448}, 0, options));
    CHECK_NOTHROW(emulator::check_launch("k", {{12, 3, 1}, {32, 1, 1}, 0, false, 4}, 0, options));
    CHECK_NOTHROW(emulator::check_launch("k", {{1, 1, 1}, {4, 4, 64}, 232448 - 49152}, 49152, options));
}

TEST_CASE("each limit that a launch breaks is named with its value") {
    struct Case {
        LaunchGeometry geometry;
        std::int64_t static_bytes;
        std::string message;
    };
    const std::vector<Case> cases{
        {{{0, 1, 1}, {1, 1, 1}, 0}, 0, "grid extent x is 0, it must be from 1 to 2147483647"},
        {{{2147483648, 1, 1}, {1, 1, 1}, 0}, 0, "grid extent x is 2147483648, it must be from 1 to 2147483647"},
        {{{1, 65536, 1}, {1, 1, 1}, 0}, 0, "grid extent y is 65536, it must be from 1 to 65535"},
        {{{1, 1, 65536}, {1, 1, 1}, 0}, 0, "grid extent z is 65536, it must be from 1 to 65535"},
        {{{1, 1, -1}, {1, 1, 1}, 0}, 0, "grid extent z is -1"},
        {{{1, 1, 1}, {1025, 1, 1}, 0}, 0, "block extent x is 1025, it must be from 1 to 1024"},
        {{{1, 1, 1}, {1, 0, 1}, 0}, 0, "block extent y is 0, it must be from 1 to 1024"},
        {{{1, 1, 1}, {1, 1, 65}, 0}, 0, "block extent z is 65, it must be from 1 to 64"},
        {{{1, 1, 1}, {32, 33, 1}, 0}, 0, "a block has 1056 threads, the limit is 1024"},
        {{{1, 1, 1}, {1, 1, 1}, 232449}, 0, "needs 232449 bytes of dynamic and 0 bytes of static shared memory"},
        {{{1, 1, 1}, {1, 1, 1}, 232448}, 4, "the limit is 232448 together"},
        {{{1, 1, 1}, {1, 1, 1}, -4}, 0, "needs -4 bytes of dynamic"},
        {{{12, 1, 1}, {1, 1, 1}, 0, false, 0}, 0, "a cluster of 0 blocks"},
        {{{18, 1, 1}, {1, 1, 1}, 0, false, 9}, 0, "a cluster of 9 blocks must have 1 to 8"},
        {{{12, 1, 1}, {1, 1, 1}, 0, false, 5}, 0, "and divide the grid's extent x, 12"},
        {{{1, 1, 1}, {1, 1, 1}, 0}, 49156, "static shared memory takes 49156 bytes, the limit is 49152"},
    };
    for (const Case& broken : cases) {
        const auto check = [&] { emulator::check_launch("k", broken.geometry, broken.static_bytes, {}); };
        CHECK_THAT(failure_of(check), contains("kernel k: ") && contains(broken.message));
    }
}

TEST_CASE("a launch outside the limits runs nothing, and limits are the device's own") {
    EmulatorOptions options;
    options.max_threads_per_block = 64;
    options.shared_memory_per_block = 1000;
    const auto device = make_emulator(options);
    CHECK(device->info().max_threads_per_block == 64);
    CHECK(device->info().shared_memory_per_block == 1000);
    const auto module =
        device->load(compile_or_fail("extern \"C\" __global__ void mark(int* out) { out[0] = 1; }", {"mark"}));
    const Buffer<int> out(*device, 1);
    CHECK_THAT(failure_of([&] {
                   launch(*device, *module, "mark", {{1, 1, 1}, {65, 1, 1}, 0}, out.pointer());
               }),
               contains("65 threads, the limit is 64"));
    CHECK_THAT(failure_of([&] {
                   launch(*device, *module, "mark", {{1, 1, 1}, {1, 1, 1}, 1001}, out.pointer());
               }),
               contains("1001"));
    CHECK(out.values()[0] == 0);
    launch(*device, *module, "mark", {{1, 1, 1}, {64, 1, 1}, 1000}, out.pointer());
    CHECK(out.values()[0] == 1);
}

TEST_CASE("the emulator describes itself the same on every machine") {
    const auto device = make_emulator();
    const DeviceInfo& info = device->info();
    CHECK(info.kind == DeviceKind::emulator);
    CHECK(device_key(info) == "emulator, cc 9.0, 16 multiprocessors");
    CHECK(info.warp_size == 32);
    CHECK(info.shared_memory_per_block == 232448);
}

}  // namespace tconv
