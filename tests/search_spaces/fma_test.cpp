#include <string>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

namespace {

const SearchSpace& fma() {
    return test::space_named("fma");
}

/// Every value of every third parameter from `first` on.
void check_values(std::size_t first) {
    // Problems on which each value has a valid config: wide rows of whole vectors, several phases, taps and channels.
    const std::vector<Problem> problems{
        parse_key("3d n3 ci36 co20 g1 i2x6x16 k2x3x3 s2x1x1 p0x1x0 op0x0x0 d1x1x1 bias f32 nchw"),
        parse_key("1d n2 ci40 co3 g1 i600 k9 s2 p1 op0 d1 bias f16 nchw"),
        parse_key("2d n70 ci80 co40 g1 i2x2 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nhwc"),
        parse_key("2d n1 ci144 co130 g1 i8x8 k2x2 s2x2 p0x0 op0x0 d1x1 nobias f16 nhwc"),
        parse_key("1d n1 ci140 co24 g1 i260 k3 s1 p1 op0 d1 nobias f32 nhwc"),
        parse_key("3d n1 ci8 co8 g1 i8x8x8 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 nobias f32 nchw"),
        parse_key("2d n1 ci4 co24 g1 i4x16 k3x3 s1x1 p1x1 op0x0 d1x1 nobias f32 nchw"),
        parse_key("3d n1 ci4 co3 g1 i10x3x4 k1x2x2 s1x2x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw"),
        parse_key("3d n1 ci4 co3 g1 i14x1x4 k2x1x1 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw"),
        parse_key("2d n130 ci5 co4 g1 i1x1 k2x3 s2x2 p0x0 op0x0 d1x1 bias f16 nchw"),
        parse_key("2d n1 ci3 co2 g1 i17x6 k1x2 s1x1 p0x0 op0x0 d1x1 nobias bf16 nhwc"),
        parse_key("2d n1 ci9 co4 g1 i16x98 k3x3 s1x1 p1x1 op0x0 d2x1 bias f32 nchw"),
        parse_key("2d n1 ci5 co2 g1 i16x104 k3x3 s1x1 p1x1 op0x0 d2x1 nobias bf16 nchw"),
    };
    test::check_every_value("fma", problems, 73, first, 3);
}

}  // namespace

TEST_CASE("accepted fma configs of random small problems are exact in the emulator") {
    test::Draw draw(67);
    for (int round = 0; round < test::rounds(26); ++round) {
        test::check_drawn(fma(), draw, test::draw_typed_problem(draw), 2);
    }
}

TEST_CASE("every value of every parameter of the fma family is exact in the emulator, first part") {
    check_values(0);
}

TEST_CASE("every value of every parameter of the fma family is exact in the emulator, second part") {
    check_values(1);
}

TEST_CASE("every value of every parameter of the fma family is exact in the emulator, third part") {
    check_values(2);
}

TEST_CASE("rows that lie above each other serve dilated taps exactly") {
    test::Draw draw(79);
    for (const char* text : {"2d n1 ci5 co6 g1 i16x32 k3x3 s1x1 p1x1 op0x0 d2x1 nobias f32 nchw",
                             "2d n2 ci8 co4 g1 i8x16 k4x3 s2x1 p1x1 op0x0 d1x1 nobias bf16 nhwc"}) {
        const Problem p = parse_key(text);
        const auto config =
            test::draw_config(fma(), draw, p, [](const Config& drawn) { return drawn.at("reuse_rows") == 1; });
        INFO(text);
        REQUIRE(config.has_value());
        test::check_exact(fma(), draw, p, *config);
    }
}

TEST_CASE("blocks that share a tile's channels add up exactly, whatever the batch of the call") {
    test::Draw draw(83);
    for (const char* text : {"2d n5 ci70 co20 g1 i3x3 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw",
                             "1d n3 ci40 co12 g2 i9 k3 s2 p0 op1 d2 bias f16 nhwc"}) {
        const Problem p = parse_key(text);
        for (const std::int64_t splits : {2, 3}) {
            const auto config =
                test::draw_config(fma(), draw, p, [&](const Config& drawn) { return drawn.at("splits") == splits; });
            INFO(text);
            REQUIRE(config.has_value());
            test::check_exact(fma(), draw, p, *config);
        }
    }
}

TEST_CASE("positions of a lane that lie side by side are exact in every type") {
    test::Draw draw(97);
    for (const char* text : {"2d n2 ci9 co10 g1 i5x12 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                             "1d n1 ci12 co6 g2 i40 k3 s4 p0 op2 d1 nobias f32 nchw",
                             "2d n1 ci7 co8 g1 i3x16 k3x1 s1x1 p1x0 op0x0 d1x1 bias f16 nchw",
                             "3d n3 ci8 co5 g1 i3x2x8 k2x3x2 s2x2x2 p0x1x0 op0x0x0 d1x1x1 bias bf16 nchw"}) {
        const Problem p = parse_key(text);
        for (const std::int64_t positions : {2, 4}) {
            const auto config = test::draw_config(
                fma(), draw, p, [&](const Config& drawn) { return drawn.at("row_vector") == positions; });
            INFO(text);
            REQUIRE(config.has_value());
            test::check_exact(fma(), draw, p, *config);
        }
    }
}

TEST_CASE("rows serve the taps of a phase that a block computes alone") {
    test::Draw draw(101);
    for (const char* text : {"2d n2 ci7 co6 g1 i9x8 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw",
                             "3d n1 ci8 co4 g1 i2x6x5 k2x6x3 s2x3x2 p0x2x1 op0x1x0 d1x1x1 nobias f16 nhwc"}) {
        const Problem p = parse_key(text);
        const auto config = test::draw_config(fma(), draw, p, [](const Config& drawn) {
            return drawn.at("reuse_rows") == 1 && drawn.at("joined_axes") < 2;
        });
        INFO(text);
        REQUIRE(config.has_value());
        test::check_exact(fma(), draw, p, *config);
    }
}

TEST_CASE("runs of a row go from registers to the tensor at every alignment and end") {
    const SearchSpace direct = test::space_with("fma", "direct_store", 1);
    test::Draw draw(103);
    for (const char* text : {"2d n2 ci9 co10 g1 i5x12 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                             "3d n3 ci8 co5 g1 i3x5x8 k2x2x2 s2x2x2 p0x0x0 op1x1x0 d1x1x1 bias f32 nchw",
                             "3d n2 ci6 co16 g2 i5x3x7 k2x3x2 s1x2x2 p1x1x1 op0x1x0 d1x1x1 nobias f32 nchw",
                             "1d n1 ci12 co6 g2 i40 k3 s4 p0 op1 d1 nobias f32 nchw",
                             "1d n70 ci12 co7 g1 i6 k4 s4 p0 op0 d1 bias f32 nchw",
                             "2d n3 ci9 co10 g1 i6x13 k3x3 s1x1 p1x1 op0x0 d1x1 bias f32 nchw",
                             "2d n1 ci7 co8 g1 i3x16 k3x1 s1x1 p1x0 op0x0 d1x1 bias f16 nchw",
                             "1d n2 ci10 co20 g1 i48 k8 s8 p4 op0 d1 bias bf16 nchw"}) {
        INFO(text);
        test::check_drawn(direct, draw, parse_key(text), 3);
    }
}

TEST_CASE("positions of a lane that lie side by side are runs of a row") {
    const SearchSpace direct = test::space_with("fma", "direct_store", 1);
    test::Draw draw(107);
    for (const char* text : {"2d n2 ci9 co10 g1 i5x12 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                             "3d n1 ci6 co8 g1 i4x8x16 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f16 nchw",
                             "2d n1 ci7 co8 g1 i3x16 k3x1 s1x1 p1x0 op0x0 d1x1 bias f32 nchw"}) {
        for (const std::int64_t positions : {2, 4}) {
            INFO(text);
            test::check_drawn(direct, draw, parse_key(text), 2,
                              [&](const Config& drawn) { return drawn.at("row_vector") == positions; });
        }
    }
}

TEST_CASE("runs of a row are those of whichever blocks have their sums") {
    const SearchSpace direct = test::space_with("fma", "direct_store", 1);
    test::Draw draw(109);
    const auto has = [](const std::string& name, std::int64_t value) {
        return [=](const Config& drawn) { return drawn.at(name) == value; };
    };
    const Problem volume = parse_key("3d n2 ci16 co12 g1 i4x6x8 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw");
    test::check_drawn(direct, draw, volume, 1, has("splits", 2));
    test::check_drawn(direct, draw, volume, 1, has("loads", 1));
    test::check_drawn(direct, draw, volume, 1, has("joined_axes", 1));
    const Problem rows = parse_key("2d n2 ci7 co6 g1 i9x8 k4x2 s2x2 p1x0 op0x0 d1x1 bias f32 nchw");
    test::check_drawn(direct, draw, rows, 2, has("reuse_rows", 1));
    const Problem small = parse_key("2d n20 ci8 co12 g1 i2x4 k2x2 s2x2 p0x0 op0x0 d1x1 bias bf16 nchw");
    test::check_drawn(direct, draw, small, 1, has("tile_n", 8));
}

TEST_CASE("what neighbouring positions read of a row serves all taps along the width") {
    test::Draw draw(103);
    const SearchSpace space = test::space_with("fma", "reuse_columns", 1);
    for (const char* text :
         {"1d n2 ci9 co20 g1 i300 k3 s2 p1 op0 d2 bias f32 nchw",
          "1d n3 ci5 co6 g1 i96 k4 s2 p1 op0 d1 nobias f32 nchw", "1d n1 ci12 co6 g2 i77 k5 s3 p2 op1 d1 bias f32 nchw",
          "1d n2 ci8 co7 g1 i64 k3 s1 p0 op0 d3 nobias f32 nchw", "1d n1 ci6 co8 g1 i50 k7 s4 p3 op2 d1 bias f16 nchw",
          "2d n2 ci6 co10 g1 i5x24 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw",
          "2d n1 ci7 co5 g1 i6x16 k2x5 s1x1 p0x2 op0x0 d1x1 nobias bf16 nchw",
          "3d n1 ci4 co9 g1 i3x4x12 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f32 nchw",
          "3d n2 ci5 co6 g1 i4x3x16 k2x3x4 s1x2x2 p0x0x3 op0x1x0 d1x1x1 nobias f32 nchw"}) {
        test::check_drawn(space, draw, parse_key(text), 4);
    }
}

TEST_CASE("windows begin alike in every tile, whatever brings the rows, and leave as rows that begin anywhere") {
    test::Draw draw(107);
    const Problem p = parse_key("1d n2 ci9 co40 g1 i3000 k3 s2 p1 op0 d2 bias f32 nchw");
    const SearchSpace space = test::space_with("fma", "reuse_columns", 1);
    for (const auto& [name, value] : {std::pair{"loads", 1},
                                      {"load_vector", 2},
                                      {"load_vector", 4},
                                      {"store_window", 32},
                                      {"row_vector", 2},
                                      {"resident_weights", 1}}) {
        INFO(name << " = " << value);
        test::check_drawn(space, draw, p, 2,
                          [&, name = name, value = value](const Config& drawn) { return drawn.at(name) == value; });
    }
}

TEST_CASE("phases that are turned by the padding leave as runs of a row") {
    const SearchSpace direct = test::space_with("fma", "direct_store", 1);
    test::Draw draw(113);
    for (const char* text : {"1d n2 ci9 co10 g1 i24 k4 s2 p1 op0 d1 bias f32 nchw",
                             "2d n1 ci6 co8 g1 i5x16 k3x3 s2x2 p1x1 op1x1 d1x1 nobias f32 nchw",
                             "1d n2 ci8 co6 g1 i20 k16 s8 p4 op0 d1 bias f16 nchw"}) {
        INFO(text);
        test::check_drawn(direct, draw, parse_key(text), 3,
                          [](const Config& drawn) { return drawn.at("turn_phases") == 1; });
    }
}
