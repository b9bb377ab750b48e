#include <array>
#include <string>
#include <utility>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"

using namespace tconv;

namespace {

const SearchSpace& hopper() {
    return test::space_named("hopper");
}

}  // namespace

TEST_CASE("accepted hopper configs of random problems are exact in the emulator") {
    test::Draw draw(51);
    for (int round = 0; round < test::rounds(10); ++round) {
        test::check_drawn(hopper(), draw, test::draw_wide_problem(draw), 2);
    }
}

TEST_CASE("every value of every parameter of the hopper family is exact in the emulator") {
    // Problems on which each value has a valid config: several phases, with the same taps and with others, wide rows.
    const std::vector<Problem> problems{
        parse_key("1d n3 ci70 co40 g1 i300 k4 s2 p1 op0 d1 bias f16 nhwc"),
        parse_key("2d n5 ci40 co130 g1 i17x20 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw"),
        parse_key("3d n2 ci36 co300 g1 i2x6x9 k2x3x3 s2x1x2 p0x1x1 op0x0x1 d1x1x1 nobias bf16 nchw"),
        parse_key("2d n3 ci80 co48 g1 i12x6 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nchw"),
        parse_key("3d n2 ci48 co24 g1 i4x5x11 k3x3x3 s1x1x1 p1x1x1 op0x0x0 d1x1x1 bias f16 nhwc"),
        parse_key("2d n2 ci530 co24 g1 i4x4 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nhwc"),
        parse_key("2d n2 ci72 co32 g1 i7x16 k3x4 s2x2 p1x1 op1x0 d1x1 bias f16 nchw"),
    };
    test::check_every_value("hopper", problems, 57);
}

TEST_CASE("joined phases that lie together in a row are stored in vectors") {
    test::Draw draw(67);
    for (const char* text : {"1d n2 ci64 co40 g1 i30 k8 s4 p4 op0 d1 bias f16 nchw",
                             "1d n2 ci32 co24 g1 i30 k4 s2 p2 op0 d1 nobias bf16 nchw",
                             "2d n2 ci32 co9 g1 i5x7 k2x4 s2x4 p0x0 op0x0 d1x1 bias f32 nchw",
                             "2d n1 ci32 co16 g1 i9x6 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const int join : {1, 3}) {
            const auto config =
                test::draw_config(hopper(), draw, p, [&](const Config& drawn) { return drawn.at("join") == join; });
            if (join == 3 && p.spatial_axes == 1) continue;
            REQUIRE(config.has_value());
            const LaunchPlan plan = hopper().plan(p, test::emulated().device->info(), *config);
            CHECK(plan.constants.at("store_bytes") > size_in_bytes(p.dtype));
            test::check_exact(hopper(), draw, p, *config);
        }
    }
}

TEST_CASE("channels-last outputs whose channels begin anywhere within a vector are stored in vectors") {
    test::Draw draw(127);
    // Runs of several phases, of one; shorter and longer than what is staged together; ends of rows cut off; groups.
    for (const char* text : {"2d n2 ci21 co21 g1 i7x9 k16x16 s8x8 p4x4 op0x0 d1x1 nobias f16 nhwc",
                             "2d n2 ci32 co45 g1 i5x7 k4x4 s2x2 p1x1 op1x1 d1x1 bias bf16 nhwc",
                             "2d n3 ci40 co17 g1 i6x5 k4x4 s4x4 p1x2 op0x3 d1x1 bias f32 nhwc",
                             "2d n2 ci64 co150 g1 i5x6 k3x3 s1x1 p1x1 op0x0 d1x1 bias f16 nhwc",
                             "3d n1 ci48 co82 g2 i3x5x4 k3x3x3 s1x2x2 p1x1x1 op0x1x0 d1x1x1 bias f16 nhwc",
                             "1d n2 ci32 co9 g1 i100 k8 s8 p3 op0 d1 nobias f32 nhwc"}) {
        const Problem p = parse_key(text);
        INFO(text);
        int checked = 0;
        for (const int join : {0, 1, 3}) {
            for (const bool flat : {false, true}) {
                const auto config = test::draw_config(hopper(), draw, p, [&](const Config& drawn) {
                    return drawn.at("join") == join && (drawn.at("flat") == 1) == flat &&
                           hopper().plan(p, test::emulated().device->info(), drawn).constants.at("store_shifted") == 1;
                });
                if (!config) continue;
                test::check_exact(hopper(), draw, p, *config);
                ++checked;
            }
        }
        CHECK(checked > 0);
    }
}

TEST_CASE("joined phases whose kernel is no whole number of strides are exact") {
    test::Draw draw(109);
    // One tap or two missing, along one axis and several; kernels below the stride; phases that the output's ends cut.
    for (const char* text : {"2d n2 ci64 co32 g1 i9x10 k3x3 s2x2 p0x0 op0x0 d1x1 bias f16 nchw",
                             "2d n2 ci130 co40 g1 i7x6 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw",
                             "2d n2 ci80 co72 g1 i5x6 k3x5 s2x2 p1x2 op1x0 d1x1 nobias bf16 nhwc",
                             "2d n2 ci40 co24 g2 i5x6 k9x9 s4x4 p4x4 op3x3 d1x1 bias f32 nchw",
                             "2d n2 ci40 co24 g1 i5x6 k5x1 s3x2 p1x0 op0x1 d1x1 bias f32 nhwc",
                             "3d n1 ci64 co16 g1 i3x5x6 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nchw",
                             "3d n1 ci32 co24 g1 i3x4x5 k3x4x3 s2x2x4 p0x1x0 op1x0x1 d1x1x1 bias f32 nhwc",
                             "1d n3 ci70 co40 g1 i70 k5 s2 p2 op1 d1 bias bf16 nchw"}) {
        const Problem p = parse_key(text);
        for (const int join : {1, 3}) {
            if (join == 3 && p.spatial_axes == 1) continue;
            for (const bool reuse : {false, true}) {
                INFO(text << ", join " << join << ", reuse " << reuse);
                const auto config = test::draw_config(hopper(), draw, p, [&](const Config& drawn) {
                    return drawn.at("join") == join && (drawn.at("reuse") != 0) == reuse;
                });
                REQUIRE(config.has_value());
                CHECK(config->at("raw_weights") == 0);
                test::check_exact(hopper(), draw, p, *config);
            }
        }
    }
}

TEST_CASE("weights are packed in vectors of every size") {
    test::Draw draw(151);
    // Many weights and few; vectors that end within a phase's taps and within an output channel; groups, ends of both
    // sides of the matrix; taps that joined phases add.
    for (const auto& [text, vector] :
         {std::pair("1d n2 ci72 co256 g1 i5 k8 s4 p2 op0 d1 bias f16 nchw", 8),
          std::pair("2d n1 ci70 co216 g1 i3x4 k3x3 s2x2 p1x1 op0x0 d1x1 bias bf16 nchw", 8),
          std::pair("2d n1 ci144 co256 g2 i3x4 k3x3 s2x2 p1x1 op0x0 d1x1 bias f16 nhwc", 8),
          std::pair("1d n2 ci80 co24 g2 i20 k5 s2 p2 op1 d1 nobias f16 nchw", 4),
          std::pair("2d n1 ci40 co20 g1 i5x6 k3x3 s2x2 p1x1 op0x0 d1x1 bias f32 nchw", 4),
          std::pair("1d n2 ci70 co10 g1 i20 k3 s2 p0 op0 d1 bias bf16 nchw", 2),
          std::pair("1d n2 ci70 co10 g1 i20 k3 s2 p0 op0 d1 bias f32 nhwc", 2),
          std::pair("1d n2 ci36 co9 g1 i20 k3 s2 p0 op0 d1 bias f16 nhwc", 1),
          std::pair("1d n2 ci36 co9 g1 i20 k3 s2 p0 op0 d1 bias f32 nchw", 1)}) {
        const Problem p = parse_key(text);
        for (const int math : {0, 1, 3}) {
            if ((math == 0) != (p.dtype != DataType::f32)) continue;
            INFO(text << ", math " << math);
            const auto config = test::draw_config(hopper(), draw, p, [&](const Config& drawn) {
                return drawn.at("math") == math && drawn.at("join") == 1 && drawn.at("raw_weights") == 0;
            });
            REQUIRE(config.has_value());
            const LaunchPlan plan = hopper().plan(p, test::emulated().device->info(), *config);
            CHECK(plan.constants.at("weight_vector") == vector);
            test::check_exact(hopper(), draw, p, *config);
        }
    }
}

TEST_CASE("joined phases of which some lack the last tap are products of their own") {
    test::Draw draw(131);
    int resident = 0;
    int split = 0;
    // Last taps of one phase of two, of one or three of four; several tiles of columns; phases joined along the width
    // alone and along all axes; rows that are shifted and such that are not.
    for (const char* text : {"2d n2 ci64 co64 g1 i9x10 k3x3 s2x2 p0x0 op0x0 d1x1 bias f16 nchw",
                             "2d n3 ci130 co128 g1 i7x8 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw",
                             "2d n2 ci80 co192 g1 i5x6 k3x5 s2x2 p1x2 op1x0 d1x1 nobias bf16 nhwc",
                             "2d n2 ci64 co64 g2 i5x6 k5x3 s2x2 p1x0 op0x1 d1x1 bias f32 nhwc",
                             "1d n2 ci256 co64 g1 i70 k5 s4 p2 op1 d1 bias bf16 nchw",
                             "1d n2 ci48 co64 g1 i50 k7 s4 p0 op0 d1 nobias f32 nchw",
                             "1d n3 ci64 co64 g1 i40 k5 s3 p1 op0 d1 bias f16 nhwc"}) {
        const Problem p = parse_key(text);
        for (const auto& [parameter, least] : {std::pair("join", 1), std::pair("reuse", 1), std::pair("cluster", 2),
                                               std::pair("resident", 1), std::pair("splits", 2)}) {
            const auto accept = [&, name = std::string(parameter), from = least](const Config& drawn) {
                const auto parts = [&] {
                    return hopper().plan(p, test::emulated().device->info(), drawn).constants.at("column_parts_w");
                };
                return drawn.at(name) >= from && parts() == p.stride[2];
            };
            const auto config = test::draw_config(hopper(), draw, p, accept);
            INFO(text << ", " << parameter);
            if (!config && parameter != std::string("join")) continue;
            REQUIRE(config.has_value());
            test::check_exact(hopper(), draw, p, *config);
            resident += config->at("resident") == 1 ? 1 : 0;
            split += config->at("splits") > 1 ? 1 : 0;
        }
    }
    CHECK(resident > 0);
    CHECK(split > 0);
}

TEST_CASE("positions whose outputs begin at a multiple of the stride are exact, and stored in whole vectors") {
    test::Draw draw(137);
    std::array<bool, 9> slots_seen{};
    int in_lines = 0;
    // Kernels of one stride, of two and of a part of one; paddings below the stride and above; phases of which two,
    // four and eight lie in one product; outputs that end within a position; several axes, groups.
    for (const char* text : {"1d n3 ci70 co64 g1 i64 k4 s2 p1 op0 d1 bias f16 nchw",
                             "1d n2 ci64 co32 g1 i40 k2 s2 p1 op0 d1 nobias bf16 nchw",
                             "1d n2 ci130 co32 g1 i36 k8 s4 p2 op0 d1 bias f16 nchw",
                             "1d n2 ci64 co32 g1 i21 k11 s4 p5 op3 d1 bias f16 nchw",
                             "1d n2 ci48 co32 g1 i20 k16 s8 p4 op0 d1 bias bf16 nchw",
                             "1d n1 ci32 co32 g1 i20 k20 s8 p6 op0 d1 bias f16 nchw",
                             "1d n2 ci40 co16 g1 i17 k32 s16 p8 op0 d1 bias f16 nchw",
                             "2d n2 ci128 co64 g1 i8x8 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nchw",
                             "2d n2 ci72 co32 g1 i5x12 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw",
                             "2d n2 ci64 co32 g2 i5x7 k3x5 s2x2 p1x3 op0x1 d1x1 nobias f32 nchw",
                             "2d n2 ci64 co32 g1 i6x9 k5x7 s1x4 p2x3 op0x3 d1x1 bias bf16 nchw",
                             "3d n1 ci64 co32 g1 i3x4x8 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nchw"}) {
        const Problem p = parse_key(text);
        int checked = 0;
        for (const auto& [parameter, least] :
             {std::pair("join", 5), std::pair("join", 7), std::pair("reuse", 1), std::pair("reuse", 3),
              std::pair("cluster", 2), std::pair("resident", 1), std::pair("splits", 2), std::pair("block_pack", 1)}) {
            const auto config =
                test::draw_config(hopper(), draw, p, [&, name = parameter, from = least](const Config& drawn) {
                    return drawn.at("join") >= 5 && drawn.at(name) >= from;
                });
            INFO(text << ", " << parameter << " " << least);
            if (!config) continue;
            const auto constants = hopper().plan(p, test::emulated().device->info(), *config).constants;
            CHECK(constants.at("store_bytes") > size_in_bytes(p.dtype));
            slots_seen.at(static_cast<std::size_t>(p.stride[2] / constants.at("column_parts_w"))) = true;
            test::check_exact(hopper(), draw, p, *config);
            in_lines += config->at("reuse") == 3 ? 1 : 0;
            ++checked;
        }
        CHECK(checked > 0);
    }
    CHECK(in_lines > 0);
    CHECK((slots_seen[1] && slots_seen[2] && slots_seen[4] && slots_seen[8]));
}

TEST_CASE("rows that begin anywhere within a vector are stored in vectors") {
    test::Draw draw(73);
    for (const char* text : {"1d n2 ci32 co24 g1 i131 k4 s2 p1 op1 d1 bias f16 nchw",
                             "1d n2 ci32 co24 g1 i67 k3 s1 p1 op0 d1 nobias bf16 nchw",
                             "2d n2 ci32 co24 g1 i12x17 k4x4 s2x2 p1x1 op1x1 d1x1 bias f32 nchw",
                             "2d n1 ci32 co9 g1 i9x21 k4x4 s4x4 p1x2 op0x3 d1x1 bias f16 nchw",
                             "3d n1 ci32 co10 g1 i3x4x13 k2x2x2 s2x2x2 p1x0x1 op0x0x1 d1x1x1 nobias f32 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        test::check_drawn(hopper(), draw, p, 4, [&](const Config& drawn) {
            return hopper().plan(p, test::emulated().device->info(), drawn).constants.at("store_shifted") == 1;
        });
    }
}

TEST_CASE("several blocks of channels, read as they are and packed, are exact in every arithmetic") {
    test::Draw draw(71);
    for (const char* text : {"2d n2 ci128 co24 g1 i5x6 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nhwc",
                             "2d n2 ci144 co24 g2 i5x6 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nhwc",
                             "2d n2 ci192 co24 g2 i5x6 k2x2 s1x1 p0x0 op0x0 d1x1 nobias f32 nhwc",
                             "2d n2 ci256 co24 g2 i5x6 k2x2 s1x1 p0x0 op0x0 d1x1 nobias f16 nhwc",
                             "1d n2 ci130 co24 g1 i40 k4 s2 p1 op0 d1 nobias f32 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const int math : {0, 1, 3}) {
            if ((math == 0) != (p.dtype != DataType::f32)) continue;
            test::check_drawn(hopper(), draw, p, 1, [&](const Config& drawn) { return drawn.at("math") == math; });
        }
    }
}

TEST_CASE("operands are packed in vectors of every length") {
    test::Draw draw(113);
    std::array<bool, 9> seen{};
    // Runs of 8, 4, 2 and 1 elements; channels that are no whole parts of an operand row; groups.
    for (const char* spatial : {"i9x8", "i5x12", "i3x10", "i1x1"}) {
        for (const char* channels : {"ci100 co50 g1", "ci80 co24 g2", "ci45 co45 g1"}) {
            const std::string text =
                std::string("2d n3 ") + channels + " " + spatial + " k3x3 s2x2 p1x1 op1x1 d1x1 bias ";
            for (const auto& [type, math] : {std::pair("bf16", 0), std::pair("f32", 1), std::pair("f32", 3)}) {
                for (const char* layout : {" nchw", " nhwc"}) {
                    const Problem p = parse_key(text + type + layout);
                    const auto config = test::draw_config(hopper(), draw, p, [&, wanted = math](const Config& drawn) {
                        return drawn.at("math") == wanted && drawn.at("raw_weights") == 0;
                    });
                    INFO(key(p));
                    REQUIRE(config.has_value());
                    const auto constants = hopper().plan(p, test::emulated().device->info(), *config).constants;
                    if (constants.at("pack_input") == 0) continue;
                    seen.at(static_cast<std::size_t>(constants.at("input_vector"))) = true;
                    test::check_exact(hopper(), draw, p, *config);
                }
            }
        }
    }
    CHECK((seen[1] && seen[2] && seen[4] && seen[8]));
}
