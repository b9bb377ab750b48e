#include "tuner/ceilings.hpp"

#include "tests/catch.hpp"
#include "tests/support/emulated.hpp"

using namespace tconv;

namespace {

/// 1000 x 1000 inputs, one tap: 8 bytes and two operations an element, but for the weight.
Problem one_tap() {
    Problem problem;
    problem.spatial_axes = 2;
    problem.in_channels = 1;
    problem.out_channels = 1;
    problem.input = {1, 1000, 1000};
    problem.kernel = {1, 1, 1};
    problem.bias = false;
    return problem;
}

}  // namespace

TEST_CASE("the emulator's ceilings are measured where it has any") {
    auto& emulated = test::emulated();
    Builder builder(*emulated.compiler, emulated.device->info());
    Timer timer(*emulated.device);
    const Ceilings ceilings = measure_ceilings(*emulated.device, builder, timer);
    CHECK(ceilings.copy_bytes_per_second > 0);
    CHECK(ceilings.fma_flops_per_second > 0);
    CHECK(ceilings.empty_launch_milliseconds > 0);
    CHECK(ceilings.tf32_flops_per_second == 0);
    CHECK(ceilings.bf16_flops_per_second == 0);
}

TEST_CASE("a limit is the largest of bytes, operations and an empty launch") {
    const Problem problem = one_tap();
    REQUIRE(flops(problem) == 2e6);
    REQUIRE(minimum_bytes(problem) == 8e6 + 4);
    Ceilings ceilings;
    ceilings.copy_bytes_per_second = 8e9;  // 1 ms
    ceilings.fma_flops_per_second = 5e8;   // 4 ms
    ceilings.tf32_flops_per_second = 1e9;  // 2 ms
    ceilings.bf16_flops_per_second = 8e9;  // 0.25 ms
    ceilings.empty_launch_milliseconds = 0.002;
    CHECK(limit_milliseconds(problem, ceilings, Arithmetic::fp32) == Approx(4));
    CHECK(limit_milliseconds(problem, ceilings, Arithmetic::tf32) == Approx(2));
    CHECK(limit_milliseconds(problem, ceilings, Arithmetic::bf16) == Approx(1));
    ceilings.empty_launch_milliseconds = 3;
    CHECK(limit_milliseconds(problem, ceilings, Arithmetic::tf32) == 3);
    CHECK(limit_milliseconds(problem, ceilings, Arithmetic::fp32) == Approx(4));
}

TEST_CASE("a rate that was not measured bounds nothing") {
    Ceilings ceilings;
    ceilings.copy_bytes_per_second = 8e9;
    ceilings.fma_flops_per_second = 5e8;
    ceilings.empty_launch_milliseconds = 0.002;
    CHECK(limit_milliseconds(one_tap(), ceilings, Arithmetic::tf32) == Approx(1));
    CHECK(limit_milliseconds(one_tap(), ceilings, Arithmetic::bf16) == Approx(1));
    CHECK(limit_milliseconds(one_tap(), {}, Arithmetic::fp32) == 0);
}

TEST_CASE("split bf16 is three bf16 products, else three TF32 products, else plain fp32") {
    CHECK(arithmetic_rate({1, 2, 3, 60, 90}, Arithmetic::split_bf16) == 30);
    CHECK(arithmetic_rate({1, 2, 3, 60, 0}, Arithmetic::split_bf16) == 20);
    CHECK(arithmetic_rate({1, 2, 3, 0, 0}, Arithmetic::split_bf16) == 2);
    CHECK(to_string(Arithmetic::split_bf16) == "split bf16");
}

TEST_CASE("the fastest arithmetic follows from type, tolerance and strictness") {
    CHECK(fastest_arithmetic(DataType::f32, 1e-4, false) == Arithmetic::split_bf16);
    CHECK(fastest_arithmetic(DataType::f32, 1e-2, false) == Arithmetic::tf32);
    CHECK(fastest_arithmetic(DataType::f32, 1e-2, true) == Arithmetic::fp32);
    CHECK(fastest_arithmetic(DataType::bf16, 1.6e-2, false) == Arithmetic::bf16);
    CHECK(fastest_arithmetic(DataType::f16, 2e-3, true) == Arithmetic::fp32);
}

TEST_CASE("arithmetics have names and rates of their own") {
    const Ceilings ceilings{1, 2, 3, 4, 5};
    CHECK(to_string(Arithmetic::fp32) == "fp32");
    CHECK(arithmetic_rate(ceilings, Arithmetic::fp32) == 2);
    CHECK(to_string(Arithmetic::tf32) == "tf32");
    CHECK(arithmetic_rate(ceilings, Arithmetic::tf32) == 4);
    CHECK(to_string(Arithmetic::bf16) == "bf16");
    CHECK(arithmetic_rate(ceilings, Arithmetic::bf16) == 5);
}
