#include "core/error.hpp"
#include "core/launch_plan.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/tensor_boxes.hpp"

// The emulator's twins of tma.cuh.

using namespace tconv;

namespace {

std::string describe(const test::BoxCase& c) {
    std::string text = std::string(to_string(c.map.element)) + " swizzle " + std::to_string(c.map.swizzle) + " shift " +
                       std::to_string(c.shift);
    for (std::size_t d = 0; d < c.map.extents.size(); ++d) {
        text += " | " + std::to_string(c.map.extents[d]) + " box " + std::to_string(c.map.box[d]) + " at " +
                std::to_string(c.corner.at(d));
    }
    return text;
}

/// Runs one block of `body`, which has a barrier and 1 KiB of dynamic shared memory, on 64 floats; the error's
/// sentence, or nothing.
std::string error_of(const std::string& body, int threads = 1) {
    const std::string source = expand_includes("tma.cuh") + R"cuda(
#line 1 "body.cu"
using namespace tconv;
extern "C" __global__ void body(const float* in, float* out) {
    __shared__ Barrier barrier;
    float* shared = dynamic_shared<float>();
)cuda" + body + "\n}\n";
    Device& device = *test::emulated().device;
    const auto module = test::emulated().build(source, {"body"});
    const test::OnDevice in(device, std::vector<float>(64, 1.0F));
    const test::OnDevice out(device, std::vector<float>(64));
    DevicePointer from = in.address();
    DevicePointer to = out.address();
    std::array<void*, 2> arguments{&from, &to};
    try {
        device.launch(*module, "body", {{1, 1, 1}, {threads, 1, 1}, 1024}, arguments.data(), nullptr);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("a box arrives as its definition says, whatever its shape, place, element and swizzle") {
    Device& device = *test::emulated().device;
    const auto module = test::emulated().build(test::load_box_source(), test::load_box_kernels());
    test::Draw draw(21);
    for (int round = 0; round < test::rounds(300); ++round) {
        const test::BoxCase c = test::draw_box(draw, static_cast<std::size_t>(1 + round % 5));
        INFO(describe(c));
        const std::vector<unsigned char> array = test::array_bytes(draw, c.map);
        check_tensor_map(c.map, 0, {static_cast<std::int64_t>(array.size()), 0}, 1, "test");
        const auto found = test::loaded_box(device, *module, c, array);
        const auto expected = test::expected_box(c, array);
        const auto differ = std::mismatch(found.begin(), found.end(), expected.begin());
        INFO("first difference at byte " << differ.first - found.begin());
        REQUIRE(found == expected);
    }
}

TEST_CASE("the helper for swizzled offsets says where a byte of a box stands") {
    const std::string source = expand_includes("tma.cuh") + R"cuda(
extern "C" __global__ void offsets(unsigned* out) {
    out[threadIdx.x] = tconv::swizzled<128>(threadIdx.x * 16);
    out[64 + threadIdx.x] = tconv::swizzled<64>(threadIdx.x * 16);
    out[128 + threadIdx.x] = tconv::swizzled<32>(threadIdx.x * 16 + 7);
    out[192 + threadIdx.x] = tconv::swizzled<0>(threadIdx.x);
}
)cuda";
    Device& device = *test::emulated().device;
    const auto module = test::emulated().build(source, {"offsets"});
    const test::OnDevice out(device, std::vector<std::uint32_t>(256));
    DevicePointer to = out.address();
    std::array<void*, 1> arguments{&to};
    device.launch(*module, "offsets", {{1, 1, 1}, {64, 1, 1}, 0}, arguments.data(), nullptr);
    const auto found = out.read();
    for (std::uint32_t i = 0; i < 64; ++i) {
        const std::uint32_t line = i / 8;
        CHECK(found[i] == (line * 8 + (i % 8 ^ line)) * 16);
        CHECK(found[64 + i] == (line * 8 + (i % 8 ^ line % 4)) * 16);
        CHECK(found[128 + i] == (line * 8 + (i % 8 ^ line % 2)) * 16 + 7);
        CHECK(found[192 + i] == i);
    }
}

TEST_CASE("a plan's tensor map is bound to the tensors and the batch of each call") {
    Device& device = *test::emulated().device;
    const auto module = test::emulated().build(test::copy_source(), {"copy"});
    const LaunchPlan plan = launch_plan_from_json(to_json(test::copy_plan()));
    REQUIRE(plan == test::copy_plan());
    test::Draw draw(3);
    for (const std::int64_t batch : {1, 2, 5}) {
        check_plan(plan, test::copy_problem(batch), device.info());
        std::vector<float> values(static_cast<std::size_t>(batch * 6 * 32));
        for (float& value : values)
            value = static_cast<float>(draw.between(-99, 99));
        const test::OnDevice in(device, values);
        const test::OnDevice out(device, std::vector<float>(values.size()));
        launch_plan(device, *module, plan, batch, {in.address(), 0, 0, out.address(), 0});
        CHECK(out.read() == values);
    }
}

TEST_CASE("a ring of stages with full and empty barriers computes what it should") {
    const std::string source = expand_includes("tma.cuh") + R"cuda(
using namespace tconv;
// The last warp fetches chunks of 32 floats into 2 stages; thread i of the first adds number i of each.
extern "C" __global__ void ring(const float* in, float* out, int chunks) {
    __shared__ Barrier full[2], empty[2];
    __shared__ __align__(128) float stages[2][32];
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; ++s) {
            barrier_init(full[s], 1);
            barrier_init(empty[s], 32);
        }
        barrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x == 32) {
        for (int i = 0; i < chunks; ++i) {
            barrier_wait(empty[i % 2], i / 2 % 2 ^ 1);
            if (i % 3 == 0) {
                barrier_expect(full[i % 2], 128);
                tma_load_bytes(stages[i % 2], in + 32 * i, 128, full[i % 2]);
                barrier_arrive(full[i % 2]);
            } else {
                barrier_arrive_and_expect(full[i % 2], 128);
                tma_load_bytes(stages[i % 2] + 16, in + 32 * i + 16, 64, full[i % 2]);
                tma_load_bytes(stages[i % 2], in + 32 * i, 64, full[i % 2]);
            }
        }
    } else if (threadIdx.x < 32) {
        float sum = 0;
        for (int i = 0; i < chunks; ++i) {
            if (i % 2 == 0) {
                barrier_wait(full[i % 2], i / 2 % 2);
            } else {
                while (!barrier_try_wait(full[i % 2], i / 2 % 2)) {
                }
            }
            sum += stages[i % 2][threadIdx.x] * (i + 1);
            barrier_arrive(empty[i % 2]);
        }
        out[threadIdx.x] = sum;
    }
}
)cuda";
    Device& device = *test::emulated().device;
    const auto module = test::emulated().build(source, {"ring"});
    for (int chunks = 1; chunks < 12; ++chunks) {
        std::vector<float> values(static_cast<std::size_t>(32 * chunks));
        std::vector<float> expected(32);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>(i * 7 % 23);
            expected[i % 32] += values[i] * static_cast<float>(i / 32 + 1);
        }
        const test::OnDevice in(device, values);
        const test::OnDevice out(device, std::vector<float>(32));
        DevicePointer from = in.address();
        DevicePointer to = out.address();
        std::array<void*, 3> arguments{&from, &to, &chunks};
        for (int time = 0; time < 5; ++time) {  // in another order of threads each
            device.launch(*module, "ring", {{1, 1, 1}, {64, 1, 1}, 0}, arguments.data(), nullptr);
            REQUIRE(out.read() == expected);
        }
    }
}

TEST_CASE("bytes that nobody waited for are not there") {
    CHECK(error_of("barrier_init(barrier, 1); barrier_arrive_and_expect(barrier, 128);"
                   "shared[0] = 5; tma_load_bytes(shared, in, 128, barrier); const float before = shared[0];"
                   "barrier_wait(barrier, 0); if (before != 5 || shared[0] != 1) barrier_init(barrier, 0);")
              .empty());
    CHECK_THAT(error_of("barrier_init(barrier, 1); barrier_arrive_and_expect(barrier, 128);"
                        "tma_load_bytes(shared, in, 128, barrier);"),
               contains("ends before copies that it started"));
}

TEST_CASE("what can never be complete is a deadlock that says what is missing") {
    CHECK_THAT(error_of("barrier_init(barrier, 1);\nbarrier_wait(barrier, 0);"),
               contains("1 thread waits at a barrier in shared memory, phase of parity 0 (line 6)") &&
                   contains("lacks 1 arrivals and 0 bytes, of which 0 are under way"));
    CHECK_THAT(error_of("barrier_init(barrier, 1); barrier_arrive_and_expect(barrier, 256);"
                        "tma_load_bytes(shared, in, 128, barrier); barrier_wait(barrier, 0);"),
               contains("lacks 0 arrivals and 256 bytes, of which 128 are under way"));
    CHECK_THAT(error_of("barrier_init(barrier, 2); barrier_arrive(barrier); while (!barrier_try_wait(barrier, 0)) {}"),
               contains("asked for ever: it lacks 1 arrivals"));
    CHECK(error_of("barrier_init(barrier, 1); barrier_wait(barrier, 1);").empty());  // as if one had been before
}

TEST_CASE("misuse of barriers and copies is told with its line") {
    CHECK_THAT(error_of("\nbarrier_arrive(barrier);"), contains("not initialised") && contains("(line 6)"));
    CHECK_THAT(error_of("barrier_init(barrier, 0);"), contains("arrivals of a barrier (0)"));
    CHECK_THAT(error_of("barrier_init(barrier, 1); barrier_expect(barrier, 128); barrier_arrive(barrier);"
                        "barrier_arrive(barrier);"),
               contains("more than 1 threads arrive"));
    CHECK_THAT(error_of("barrier_init(barrier, 1); barrier_arrive_and_expect(barrier, 64);"
                        "tma_load_bytes(shared, in, 128, barrier); barrier_wait(barrier, 0);"),
               contains("64 bytes more than it expects"));
    CHECK_THAT(error_of("barrier_init(barrier, 1); tma_load_bytes(shared + 1, in, 16, barrier);"),
               contains("misaligned destination of a bulk copy"));
    CHECK_THAT(error_of("barrier_init(barrier, 1); tma_load_bytes(shared, in + 2, 16, barrier);"),
               contains("misaligned source of a bulk copy"));
    CHECK_THAT(error_of("barrier_init(barrier, 1); tma_load_bytes(shared, in, 8, barrier);"),
               contains("misaligned size of a bulk copy"));
    CHECK_THAT(error_of("barrier_init(barrier, 1); TensorMap map = {}; tma_load_box(shared, map, barrier, {0, 0});"),
               contains("what should be a tensor map is none"));
    CHECK_THAT(error_of("barrier_init(barrier, 2); barrier_expect(barrier, 1 << 20);"), contains("can be counted"));
}

TEST_CASE("a box of other dimensions than the map's, or at an odd address, is refused") {
    Device& device = *test::emulated().device;
    const auto module = test::emulated().build(test::load_box_source(), test::load_box_kernels());
    test::Draw draw(5);
    test::BoxCase c = test::draw_box(draw, 2);
    c.shift = 64;
    const auto array = test::array_bytes(draw, c.map);
    CHECK_THROWS_WITH(test::loaded_box(device, *module, c, array), contains("misaligned destination of a box"));
    test::BoxCase between = test::draw_box(draw, 2);
    between.corner[0] += 1;
    CHECK_THROWS_WITH(test::loaded_box(device, *module, between, test::array_bytes(draw, between.map)),
                      contains("must be a multiple of 16"));
    EncodedTensorMap map = device.encode(c.map, 1, 256);
    std::array<std::int64_t, 7> numbers{0, 0, 0, 0, 0, 0, 16};
    DevicePointer out = 0;
    std::array<void*, 3> arguments{&map, &out, numbers.data()};
    CHECK_THROWS_WITH(device.launch(*module, "load_box_3", {{1, 1, 1}, {32, 1, 1}, 1024}, arguments.data(), nullptr),
                      contains("a box of 3 dimensions is asked of a tensor map of 2"));
}
