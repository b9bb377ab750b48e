#include <string>
#include <utility>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

namespace {

/// The hopper family where products are places of lines that follow one another.
const SearchSpace& lines() {
    static const SearchSpace space = test::space_with("hopper", "reuse", 3);
    return space;
}

}  // namespace

TEST_CASE("lines of positions that follow one another with their halo are exact") {
    test::Draw draw(137);
    int joined = 0;
    int strips = 0;
    int shared = 0;
    // Zeros before the first input, behind the last, on both sides, cropped away; phases of other lengths; tiles over
    // the ends of planes and entries; taps with gaps, along one axis alone; groups.
    for (const char* text : {"2d n3 ci64 co40 g1 i9x10 k3x3 s2x2 p0x0 op0x0 d1x1 bias f16 nhwc",
                             "2d n3 ci70 co40 g1 i9x13 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nchw",
                             "2d n2 ci40 co72 g1 i7x11 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw",
                             "2d n2 ci64 co24 g1 i12x17 k3x3 s1x1 p1x1 op0x0 d1x1 bias f32 nhwc",
                             "2d n2 ci40 co24 g1 i11x15 k3x3 s1x1 p3x3 op0x0 d1x1 bias f16 nchw",
                             "2d n2 ci48 co16 g1 i9x14 k5x3 s1x1 p0x2 op0x0 d2x3 nobias f16 nhwc",
                             "2d n2 ci80 co24 g2 i9x33 k6x5 s3x2 p2x1 op1x0 d1x1 bias bf16 nhwc",
                             "2d n1 ci36 co16 g1 i20x150 k5x4 s2x4 p1x0 op0x2 d1x1 bias f32 nchw",
                             "2d n4 ci32 co16 g1 i21x24 k1x5 s1x2 p0x2 op0x1 d1x1 bias f16 nchw",
                             "3d n2 ci64 co16 g1 i4x6x7 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nchw",
                             "3d n2 ci36 co24 g1 i3x5x6 k2x3x4 s1x1x2 p0x1x1 op0x0x0 d1x1x1 nobias f32 nhwc"}) {
        const Problem p = parse_key(text);
        for (const int join : {0, 1, 3}) {
            const auto config =
                test::draw_config(lines(), draw, p, [&](const Config& drawn) { return drawn.at("join") == join; });
            INFO(text << ", join " << join);
            if (!config) continue;
            const auto constants = lines().plan(p, test::emulated().device->info(), *config).constants;
            joined += join > 0 ? 1 : 0;
            strips += constants.at("box_w") * p.stride[2] < output_extents(p)[2] / 2 ? 1 : 0;
            shared += constants.at("line_places") == constants.at("box_w") ? 1 : 0;
            test::check_exact(lines(), draw, p, *config);
        }
    }
    CHECK(joined >= 4);
    CHECK(strips >= 2);
    CHECK(shared >= 3);
}

TEST_CASE("lines that follow one another are exact with everything that blocks may share or split") {
    test::Draw draw(139);
    for (const auto& [parameter, least] :
         {std::pair("cluster", 2), std::pair("cluster", 3), std::pair("splits", 2), std::pair("stagger", 1),
          std::pair("blocks", 2), std::pair("raw_weights", 1), std::pair("resident", 1), std::pair("tile_order", 2)}) {
        int checked = 0;
        for (const char* text : {"2d n3 ci136 co128 g1 i9x10 k3x3 s2x2 p0x0 op0x0 d1x1 bias f16 nhwc",
                                 "2d n5 ci72 co32 g1 i12x9 k3x3 s1x1 p1x1 op0x0 d1x1 bias f16 nhwc",
                                 "2d n2 ci130 co128 g1 i7x11 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw"}) {
            const Problem p = parse_key(text);
            const auto config = test::draw_config(
                lines(), draw, p,
                [name = std::string(parameter), from = least](const Config& c) { return c.at(name) >= from; });
            INFO(text << ", " << parameter);
            if (!config) continue;
            test::check_exact(lines(), draw, p, *config);
            ++checked;
        }
        INFO(parameter);
        CHECK(checked > 0);
    }
}

TEST_CASE("random layers are exact with lines that follow one another") {
    test::Draw draw(149);
    int checked = 0;
    while (checked < test::rounds(12)) {
        const Problem p = test::draw_wide_problem(draw);
        const auto config = test::draw_config(lines(), draw, p, [](const Config&) { return true; });
        if (!config) continue;
        test::check_exact(lines(), draw, p, *config);
        ++checked;
    }
}

TEST_CASE("zeros between lines are those of both") {
    const auto extents = [](const char* text) {
        test::Draw draw(151);
        const Problem p = parse_key(text);
        const auto config = test::draw_config(
            lines(), draw, p, [](const Config& c) { return c.at("join") == 0 && c.at("box_width") == 128; });
        REQUIRE(config.has_value());
        const auto constants = lines().plan(p, test::emulated().device->info(), *config).constants;
        return std::pair(constants.at("plane_lines"), constants.at("line_places"));
    };
    // 65 positions read the 64 inputs and a zero on either side.
    CHECK(extents("2d n4 ci512 co256 g1 i64x64 k3x3 s2x2 p0x0 op0x0 d1x1 nobias f16 nhwc") == std::pair(65L, 65L));
    // 80 positions read all inputs and a zero on either side.
    CHECK(extents("2d n4 ci64 co64 g1 i70x80 k3x3 s1x1 p1x1 op0x0 d1x1 nobias f16 nhwc") == std::pair(71L, 81L));
    // All of what they read is inputs.
    CHECK(extents("2d n4 ci64 co64 g1 i70x80 k3x3 s1x1 p2x2 op0x0 d1x1 nobias f16 nhwc") == std::pair(70L, 80L));
}
