#include <string>
#include <utility>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"

using namespace tconv;

namespace {

/// Problems and configs with a value of block_pack.
void check_inputs(int block_pack, std::uint64_t seed) {
    test::Draw draw(seed);
    const SearchSpace space = test::space_with("hopper", "block_pack", block_pack);
    // Boxes that begin at every place of 16 bytes, each phase's at another; halos and none, before and behind the
    // input; boxes of several batch entries; channels that are no whole slices; groups; phases without taps.
    for (const char* text : {"1d n2 ci128 co40 g1 i96 k4 s2 p1 op0 d1 bias f16 nchw",
                             "1d n3 ci36 co24 g1 i208 k7 s1 p2 op0 d1 nobias bf16 nchw",
                             "1d n2 ci70 co24 g1 i104 k5 s2 p2 op1 d1 bias f32 nchw",
                             "1d n2 ci40 co24 g1 i72 k2 s3 p1 op0 d1 bias f16 nchw",
                             "2d n3 ci130 co64 g1 i10x16 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nchw",
                             "2d n2 ci128 co24 g2 i9x24 k4x4 s2x2 p1x1 op0x0 d1x1 bias bf16 nchw",
                             "2d n7 ci96 co32 g1 i5x8 k3x3 s1x1 p1x1 op0x0 d1x1 nobias f32 nchw",
                             "2d n2 ci64 co40 g2 i6x20 k5x4 s2x2 p1x2 op1x0 d1x1 bias f32 nchw",
                             "2d n2 ci40 co24 g1 i12x20 k3x3 s1x1 p0x3 op0x0 d2x3 bias f32 nchw",
                             "2d n2 ci64 co24 g1 i8x16 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                             "3d n2 ci72 co32 g1 i3x5x8 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nchw",
                             "3d n2 ci48 co24 g1 i4x6x12 k2x3x3 s2x1x2 p0x1x1 op0x0x1 d1x1x1 nobias f32 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const int math : {0, 1, 3}) {
            if ((math == 0) != (p.dtype != DataType::f32)) continue;
            test::check_drawn(space, draw, p, 3, [&](const Config& drawn) { return drawn.at("math") == math; });
        }
    }
    const Problem p = parse_key("2d n3 ci256 co72 g1 i7x16 k4x4 s1x1 p1x1 op0x0 d1x1 bias f16 nchw");
    for (const auto& [parameter, least] : {std::pair("splits", 2), std::pair("cluster", 2), std::pair("stagger", 1),
                                           std::pair("blocks", 2), std::pair("consumers", 3)}) {
        INFO(parameter);
        test::check_drawn(space, draw, p, 1, [&, name = std::string(parameter), from = least](const Config& drawn) {
            return drawn.at(name) >= from;
        });
    }
}

}  // namespace

TEST_CASE("channels-first inputs that are packed inside the block are exact") {
    check_inputs(1, 137);
}

TEST_CASE("channels-first inputs that the lanes that multiply read as they lie are exact") {
    check_inputs(2, 241);
}

TEST_CASE("a layer whose input is read as it lies has no launch for it") {
    test::Draw draw(139);
    for (const int block_pack : {1, 2}) {
        const SearchSpace space = test::space_with("hopper", "block_pack", block_pack);
        const Problem p = parse_key("2d n8 ci128 co64 g1 i64x64 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nchw");
        const auto config =
            test::draw_config(space, draw, p, [](const Config& drawn) { return drawn.at("splits") == 1; });
        REQUIRE(config.has_value());
        const LaunchPlan plan = space.plan(p, test::emulated().device->info(), *config);
        CHECK(plan.launches.size() == 2);
        CHECK(plan.launches[0].kernel == "tconv_hopper_pack_weights");
        CHECK(plan.workspace_bytes_per_batch == 0);
    }
}

TEST_CASE("lanes of unlike channels read from unlike banks where a box may have more lines or longer ones") {
    test::Draw draw(251);
    const SearchSpace space = test::space_with("hopper", "block_pack", 2);
    for (const char* text : {"1d n3 ci36 co24 g1 i208 k7 s1 p2 op0 d1 nobias f16 nchw",
                             "1d n2 ci70 co24 g1 i104 k5 s2 p2 op1 d1 bias f32 nchw",
                             "2d n3 ci130 co64 g1 i10x16 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nchw",
                             "2d n7 ci96 co32 g1 i5x8 k3x3 s1x1 p1x1 op0x0 d1x1 nobias f32 nchw",
                             "3d n2 ci48 co24 g1 i5x6x16 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f16 nchw",
                             "3d n2 ci48 co24 g1 i5x6x16 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw"}) {
        const Problem p = parse_key(text);
        // A box of one plane: its other lines follow from the constants.
        const auto config = test::draw_config(
            space, draw, p, [&](const Config& c) { return p.spatial_axes < 3 || c.at("reuse") == 4; });
        REQUIRE(config.has_value());
        INFO(text << " | " << to_string(*config));
        const auto constants = space.plan(p, test::emulated().device->info(), *config).constants;
        const auto channel_bytes = constants.at("raw_height") * constants.at("raw_width") * size_in_bytes(p.dtype);
        // Four lanes read neighbouring channels of 32 bits, or every second one of 16.
        CHECK((p.dtype == DataType::f32 ? channel_bytes : 2 * channel_bytes) % 64 == 32);
    }
}

TEST_CASE("inputs are read as they lie where rows begin at 16 bytes and a block's channels are of one group") {
    test::Draw draw(149);
    const int block_pack = GENERATE(1, 2);
    const SearchSpace space = test::space_with("hopper", "block_pack", block_pack);
    const auto accepts = [&](const char* text) {
        return test::draw_config(space, draw, parse_key(text), [](const Config&) { return true; }).has_value();
    };
    CHECK(accepts("2d n8 ci64 co64 g1 i16x16 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nchw"));
    CHECK(accepts("2d n8 ci64 co64 g2 i16x12 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw"));
    CHECK_FALSE(accepts("2d n8 ci64 co64 g1 i16x12 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nchw"));
    CHECK_FALSE(accepts("2d n8 ci64 co64 g1 i16x14 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw"));
    CHECK_FALSE(accepts("2d n8 ci64 co64 g2 i16x16 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nchw"));
    CHECK_FALSE(accepts("2d n8 ci64 co64 g1 i16x16 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nhwc"));
}
