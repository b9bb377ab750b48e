#include <functional>
#include <optional>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/support/h200.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

namespace {

const SearchSpace& direct() {
    return test::space_named("direct");
}

std::optional<Config> draw_config(test::Draw& draw, const Problem& p,
                                  const std::function<bool(const Config&)>& accept) {
    return test::draw_config(direct(), draw, p, accept);
}

void check_config(test::Draw& draw, const Problem& p, const Config& config) {
    CHECK(direct().plan(p, test::emulated().device->info(), config).alignment == 4);
    test::check_exact(direct(), draw, p, config, 64);
}

}  // namespace

TEST_CASE("accepted configs of random small problems are exact in the emulator") {
    test::Draw draw(31);
    for (int round = 0; round < test::rounds(40); ++round) {
        const Problem p = test::draw_problem(draw);
        for (int i = 0; i < 3; ++i) {
            const auto config = draw_config(draw, p, [](const Config&) { return true; });
            INFO(key(p));
            REQUIRE(config.has_value());
            check_config(draw, p, *config);
        }
    }
}

TEST_CASE("every value of every parameter of the direct family is exact in the emulator") {
    // Problems on which each value has a valid config: wide rows of whole vectors, several phases, taps and channels.
    Problem volume;
    volume.spatial_axes = 3;
    volume.in_channels = 17;
    volume.out_channels = 17;
    volume.input = {3, 6, 16};
    volume.kernel = {2, 3, 3};
    Problem line;
    line.spatial_axes = 1;
    line.in_channels = 17;
    line.out_channels = 9;
    line.input = {1, 1, 160};
    line.kernel = {1, 1, 5};
    line.stride = {1, 1, 2};
    line.padding = {0, 0, 1};
    line.bias = true;
    test::check_every_value("direct", {volume, line}, 37);
}

TEST_CASE("the direct space of the headline volume has at least 5,000 valid configs") {
    const Problem p = parse_key("3d n8 ci48 co24 g1 i96x96x96 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw");
    DeviceInfo device = test::h200();
    device.compute_major = 7;  // fma takes the others
    device.compute_minor = 5;
    std::int64_t valid = 0;
    direct().enumerate(p, device, [&](const Config&) { return ++valid < 5000; });
    CHECK(valid >= 5000);
    CHECK(!direct().defaults(p, device).empty());
}

TEST_CASE("every legal fp32 problem has a config") {
    test::Draw draw(41);
    const DeviceInfo device = test::emulated().device->info();
    for (int round = 0; round < test::rounds(150); ++round) {
        const Problem p = test::draw_problem(draw);
        INFO(key(p));
        CHECK(!direct().defaults(p, device).empty());
    }
    // Reported elsewhere as crashes or refusals: huge halo, huge stride, depthwise, kernel 1 with stride and output
    // padding.
    for (const char* text : {"3d n1 ci2 co2 g1 i4x4x4 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d100x100x100 nobias f32 nchw",
                             "1d n12 ci2049 co1 g1 i340 k4096 s1024 p0 op0 d1 nobias f32 nchw",
                             "2d n16 ci64 co64 g64 i32x32 k8x8 s4x4 p2x2 op0x0 d1x1 nobias f32 nchw",
                             "1d n1 ci3 co5 g1 i7 k1 s3 p1 op2 d1 nobias f32 nchw",
                             "1d n1 ci2 co2 g1 i5 k3 s1000000000 p0 op999999999 d1 nobias f32 nchw",
                             "2d n70000 ci1 co1 g1 i3x3 k3x3 s1x1 p0x0 op0x0 d1x1 nobias f32 nchw"}) {
        INFO(text);
        const Problem p = parse_key(text);
        validate(p);
        CHECK(!direct().defaults(p, device).empty());
    }
}
