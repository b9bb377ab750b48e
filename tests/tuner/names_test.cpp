#include "tuner/names.hpp"

#include "tests/catch.hpp"
#include "tests/tuner/spaces_for_tests.hpp"

using namespace tconv;

TEST_CASE("problem names hold the problem's numbers") {
    Problem problem;
    problem.spatial_axes = 2;
    problem.batch = 2;
    problem.in_channels = 8;
    problem.out_channels = 12;
    problem.groups = 4;
    problem.input = {1, 10, 20};
    problem.kernel = {1, 3, 5};
    problem.stride = {1, 1, 2};
    problem.padding = {0, 1, 0};
    problem.output_padding = {0, 0, 1};
    problem.dilation = {1, 2, 1};
    problem.bias = true;
    problem.dtype = DataType::bf16;
    problem.layout = Layout::nhwc;
    NamedValues values = problem_values(problem);

    CHECK(values["problem.in_channels_per_group"] == 2);
    CHECK(values["problem.out_channels_per_group"] == 3);
    // (10 - 1) * 1 - 2 * 1 + 2 * (3 - 1) + 0 + 1 and (20 - 1) * 2 - 0 + (5 - 1) + 1 + 1
    CHECK(values["problem.output_d"] == 1);
    CHECK(values["problem.output_h"] == 12);
    CHECK(values["problem.output_w"] == 44);
    CHECK(values["problem.padding_h"] == 1);
    CHECK(values["problem.output_padding_w"] == 1);
    CHECK(values["problem.dilation_h"] == 2);
    CHECK(values["problem.phases_d"] == 1);
    CHECK(values["problem.phases_w"] == 2);
    // height: taps at input offsets 0, 2, 4; width: phase 0 has taps 0, 2, 4 at offsets 0, 1, 2
    CHECK(values["problem.halo_h"] == 4);
    CHECK(values["problem.halo_w"] == 2);
    CHECK(values["problem.max_taps_h"] == 3);
    CHECK(values["problem.max_taps_w"] == 3);
    CHECK(values["problem.max_taps_d"] == 1);
    CHECK(values["problem.bias"] == 1);
    CHECK(values["problem.dtype"] == word_values().at("bf16"));
    CHECK(values["problem.layout"] == word_values().at("nhwc"));
    CHECK(values["problem.input_elements"] == 2 * 8 * 200);
    CHECK(values["problem.weight_elements"] == 8 * 3 * 15);
    CHECK(values["problem.output_elements"] == 2 * 12 * 12 * 44);
}

TEST_CASE("device names hold the device's numbers") {
    NamedValues values = device_values(testing::test_device());
    CHECK(values["device.compute_capability"] == 90);
    CHECK(values["device.multiprocessors"] == 132);
    CHECK(values["device.shared_memory_per_block"] == 232448);
    CHECK(values["device.is_emulator"] == 0);
    CHECK(device_values(DeviceInfo{})["device.is_emulator"] == 1);
}

TEST_CASE("the names that every file may use are known") {
    CHECK(is_given_name("problem.stride_w"));
    CHECK(is_given_name("device.warp_size"));
    CHECK(is_given_name("f16"));
    CHECK_FALSE(is_given_name("problem.stride"));
    CHECK_FALSE(is_given_name("tile_w"));
}
