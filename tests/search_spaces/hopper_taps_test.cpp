#include <string>
#include <utility>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

namespace {

/// The hopper family where taps along the width are columns, or those along the depth too.
const SearchSpace& taps() {
    static const SearchSpace space = test::space_with("hopper", "tap_columns", 1);
    return space;
}
const SearchSpace& walks() {
    static const SearchSpace space = test::space_with("hopper", "tap_columns", 2);
    return space;
}

// Zeros before the first input, behind the last, on both sides, cropped away; last groups of some phases alone and of
// columns that are no eights; taps with gaps, up to eight positions away; kernels of two to six taps; tiles over the
// ends of planes and entries; groups.
constexpr const char* k_layers[] = {
    "3d n2 ci48 co24 g1 i5x6x13 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f16 nhwc",
    "3d n2 ci48 co24 g1 i4x5x11 k3x3x3 s1x1x1 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw",
    "3d n2 ci64 co16 g1 i4x6x7 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias bf16 nhwc",
    "3d n1 ci36 co12 g1 i3x5x16 k2x3x4 s1x1x2 p0x1x1 op0x0x0 d1x1x1 nobias f32 nhwc",
    "2d n3 ci80 co24 g1 i9x10 k3x3 s2x2 p0x0 op0x0 d1x1 bias f16 nhwc",
    "2d n3 ci70 co20 g1 i9x13 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nchw",
    "2d n2 ci64 co9 g1 i7x40 k5x5 s1x1 p3x3 op0x0 d1x1 bias f16 nchw",
    "2d n2 ci40 co20 g2 i9x33 k6x5 s3x2 p2x1 op1x0 d1x1 bias bf16 nhwc",
    "2d n2 ci48 co16 g1 i9x24 k5x3 s1x1 p0x2 op0x0 d2x3 nobias f16 nhwc",
    "2d n1 ci36 co8 g1 i20x150 k5x4 s2x1 p1x0 op0x0 d1x2 bias f32 nchw",
    "2d n4 ci32 co13 g1 i11x24 k3x5 s1x4 p0x2 op0x1 d1x1 bias f32 nhwc",
    "1d n4 ci32 co24 g1 i70 k3 s1 p1 op0 d4 bias f16 nhwc",
    "1d n3 ci48 co16 g1 i100 k4 s2 p1 op0 d1 bias f32 nchw",
};

}  // namespace

TEST_CASE("taps along the width as columns are exact") {
    test::Draw draw(163);
    int planes = 0;
    for (const char* text : k_layers) {
        const Problem p = parse_key(text);
        for (const int reuse : {3, 4}) {
            if (reuse == 4 && p.kernel[0] <= p.stride[0]) continue;
            INFO(text << ", reuse " << reuse);
            test::check_drawn(taps(), draw, p, 1, [&](const Config& drawn) { return drawn.at("reuse") == reuse; });
            planes += reuse == 4 ? 1 : 0;
        }
    }
    CHECK(planes >= 4);
}

TEST_CASE("taps as columns are exact with everything that blocks and warpgroups may share") {
    test::Draw draw(167);
    for (const auto& [parameter, least] :
         {std::pair("cluster", 2), std::pair("stagger", 1), std::pair("blocks", 2), std::pair("resident", 1),
          std::pair("rows", 2), std::pair("consumers", 3), std::pair("tile_order", 2)}) {
        int checked = 0;
        for (const char* text : {k_layers[0], k_layers[1], k_layers[2], k_layers[4], k_layers[6]}) {
            const Problem p = parse_key(text);
            const auto config = test::draw_config(
                taps(), draw, p,
                [name = std::string(parameter), from = least](const Config& c) { return c.at(name) >= from; });
            INFO(text << ", " << parameter);
            if (!config) continue;
            test::check_exact(taps(), draw, p, *config);
            ++checked;
        }
        INFO(parameter);
        CHECK(checked > 0);
    }
}

TEST_CASE("random layers are exact with taps as columns") {
    test::Draw draw(173);
    int checked = 0;
    while (checked < test::rounds(16)) {
        Problem p = test::draw_wide_problem(draw);
        p.out_channels = p.groups * draw.between(8, 40);
        const auto config = test::draw_config(taps(), draw, p, [](const Config&) { return true; });
        if (!config) continue;
        test::check_exact(taps(), draw, p, *config);
        ++checked;
    }
}

TEST_CASE("tiles that walk along the depth are exact") {
    test::Draw draw(179);
    int resident = 0;
    int parts = 0;
    // Paddings below the reach and above; two to five taps; walks in parts; phases along other axes; several blocks of
    // channels; groups.
    for (const char* text : {"3d n2 ci48 co24 g1 i5x6x13 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f16 nhwc",
                             "3d n1 ci48 co16 g1 i40x5x11 k3x3x3 s1x1x1 p1x1x1 op0x0x0 d1x1x1 nobias f32 nhwc",
                             "3d n2 ci70 co12 g1 i9x6x7 k5x3x3 s1x2x1 p4x1x2 op0x1x0 d1x1x1 bias bf16 nchw",
                             "3d n2 ci130 co9 g1 i30x3x5 k2x2x3 s1x1x2 p0x0x1 op0x0x1 d1x1x1 bias f16 nhwc",
                             "3d n1 ci64 co16 g2 i3x7x12 k4x1x3 s1x1x1 p1x0x1 op0x0x0 d1x1x2 nobias f32 nchw",
                             "3d n3 ci36 co20 g1 i8x5x9 k3x4x3 s1x2x1 p2x1x0 op0x0x0 d1x1x1 bias f32 nchw"}) {
        const Problem p = parse_key(text);
        for (const auto& [parameter, least] : {std::pair("math", 0), std::pair("math", 3), std::pair("resident", 1),
                                               std::pair("cluster", 2), std::pair("stagger", 1)}) {
            const auto config = test::draw_config(
                walks(), draw, p,
                [name = std::string(parameter), from = least](const Config& c) { return c.at(name) >= from; });
            INFO(text << ", " << parameter);
            if (!config && least > 0) continue;
            REQUIRE(config.has_value());
            test::check_exact(walks(), draw, p, *config);
            resident += config->at("resident") == 1 ? 1 : 0;
            const auto constants = walks().plan(p, test::emulated().device->info(), *config).constants;
            parts += constants.at("box_d") < output_extents(p)[0] ? 1 : 0;
        }
    }
    CHECK(resident > 0);
    CHECK(parts > 0);
}

TEST_CASE("taps are columns of boxes that the block packs or reads as they lie") {
    test::Draw draw(181);
    // Blocks of channels that are whole, end within a slice, and within a product's channels; lines that begin anywhere
    // in 16 bytes; phases along the width; groups.
    for (const auto& [text, walked] :
         {std::pair("3d n2 ci48 co24 g1 i5x6x16 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f16 nchw", true),
          std::pair("3d n1 ci70 co9 g1 i4x5x12 k3x2x3 s1x2x1 p1x0x1 op0x1x0 d1x1x1 nobias f32 nchw", true),
          std::pair("3d n1 ci128 co16 g2 i3x7x24 k2x3x4 s1x1x2 p0x1x1 op0x0x1 d1x1x1 bias bf16 nchw", true),
          std::pair("3d n1 ci40 co16 g1 i4x5x8 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f32 nchw", false),
          std::pair("2d n3 ci100 co20 g1 i9x16 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nchw", false),
          std::pair("2d n2 ci33 co16 g1 i7x40 k5x5 s1x1 p3x3 op0x0 d1x1 bias f32 nchw", false),
          std::pair("1d n3 ci48 co16 g1 i104 k3 s1 p1 op0 d4 bias f16 nchw", false)}) {
        const Problem p = parse_key(text);
        for (const int block_pack : {1, 2}) {
            INFO(block_pack);
            const auto packs = [&](const Config& c) { return c.at("block_pack") == block_pack; };
            test::check_drawn(taps(), draw, p, 2, packs);
            if (walked) test::check_drawn(walks(), draw, p, 1, packs);
        }
    }
}
