#include <array>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"
#include "tests/support/h200.hpp"

using namespace tconv;

namespace {

const SearchSpace& overlap_add() {
    return test::space_named("overlap_add");
}

/// Random problems in every type and layout with enough channels; in every other one kernel = stride on some axes.
Problem draw_product_problem(test::Draw& draw) {
    Problem p = test::draw_typed_problem(draw);
    p.in_channels = p.groups * draw.between(8, 40);
    p.out_channels = p.groups * draw.between(1, 20);
    if (draw.chance(30)) p.in_channels = p.groups * 16;
    if (draw.chance(30)) p.out_channels = p.groups * 8;
    if (draw.chance(50)) {
        const std::size_t first = 3 - static_cast<std::size_t>(p.spatial_axes);
        for (std::size_t axis = first; axis < 3; ++axis) {
            p.kernel[axis] = p.stride[axis] = draw.between(1, 4);
            p.dilation[axis] = 1;
            p.output_padding[axis] = draw.chance(20) ? draw.between(0, p.stride[axis] - 1) : 0;
            p.padding[axis] = p.kernel[axis] > 1 && p.input[axis] > 1 && draw.chance(30) ? 1 : 0;
        }
    }
    return p;
}

}  // namespace

TEST_CASE("accepted overlap_add configs of random small problems are exact in the emulator") {
    test::Draw draw(131);
    int taken = 0;
    int alone = 0;
    for (int round = 0; round < test::rounds(40); ++round) {
        const Problem p = draw_product_problem(draw);
        INFO(key(p));
        if (!overlap_add().refusal(p, test::emulated().device->info()).empty()) continue;
        ++taken;
        test::check_drawn(overlap_add(), draw, p, 2);
        const auto defaults = overlap_add().defaults(p, test::emulated().device->info());
        if (!defaults.empty() && defaults.front().at("gather") == 0) {
            alone +=
                overlap_add().plan(p, test::emulated().device->info(), defaults.front()).launches.size() == 1 ? 1 : 0;
        }
    }
    CHECK(taken > test::rounds(16));
    CHECK(alone > test::rounds(4));
}

TEST_CASE("a single input along an axis gives each product an output of its own") {
    test::Draw draw(151);
    for (const char* one : {"2d n9 ci40 co16 g1 i1x1 k4x4 s1x1 p0x0 op0x0 d1x1 bias f32 nchw",
                            "2d n3 ci40 co9 g1 i1x6 k5x2 s3x2 p1x0 op0x0 d1x1 nobias f16 nhwc",
                            "1d n4 ci24 co12 g2 i1 k7 s2 p2 op0 d1 bias f32 nchw"}) {
        const Problem p = parse_key(one);
        INFO(one);
        const auto defaults = overlap_add().defaults(p, test::emulated().device->info());
        REQUIRE(!defaults.empty());
        CHECK(overlap_add().plan(p, test::emulated().device->info(), defaults.front()).launches.size() == 1);
        test::check_drawn(overlap_add(), draw, p, 4);
    }
    // An output beyond the last product has no share.
    const Problem padded = parse_key("1d n4 ci24 co12 g2 i1 k3 s2 p0 op1 d1 bias f32 nchw");
    const auto defaults = overlap_add().defaults(padded, test::emulated().device->info());
    REQUIRE(!defaults.empty());
    CHECK(overlap_add().plan(padded, test::emulated().device->info(), defaults.front()).launches.size() == 2);
    test::check_drawn(overlap_add(), draw, padded, 4);
}

TEST_CASE("every value of every parameter of the overlap_add family is exact in the emulator") {
    const std::vector<Problem> problems{
        parse_key("2d n2 ci40 co16 g1 i6x8 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw"),
        parse_key("1d n3 ci72 co12 g1 i40 k4 s2 p1 op0 d1 bias f32 nchw"),
        parse_key("2d n2 ci36 co24 g2 i5x7 k3x3 s2x2 p1x1 op1x1 d1x1 nobias f32 nhwc"),
        parse_key("3d n2 ci64 co8 g1 i3x4x4 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f16 nchw"),
        parse_key("1d n2 ci64 co9 g1 i33 k16 s8 p4 op0 d1 nobias bf16 nhwc"),
        parse_key("1d n1 ci40 co1 g1 i60 k64 s16 p0 op0 d1 nobias f32 nchw"),
    };
    test::check_every_value("overlap_add", problems, 137);
}

TEST_CASE("groups of warps share the channels of overlap_add's chunks") {
    test::Draw draw(163);
    const std::vector<Problem> problems{
        // Channels that fill no chunk, outputs and shares of both kinds.
        parse_key("2d n2 ci37 co16 g1 i6x8 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw"),
        parse_key("1d n3 ci22 co12 g2 i40 k4 s2 p1 op0 d1 bias f32 nchw"),
        parse_key("1d n2 ci70 co9 g1 i33 k16 s8 p4 op0 d1 nobias f32 nchw"),
        // Operands that pass through registers.
        parse_key("2d n2 ci36 co24 g2 i5x7 k3x3 s2x2 p1x1 op1x1 d1x1 nobias f32 nhwc"),
        parse_key("3d n2 ci64 co8 g1 i3x4x4 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f16 nchw"),
        parse_key("2d n9 ci44 co10 g1 i1x1 k4x4 s1x1 p0x0 op0x0 d1x1 bias f32 nchw"),
        parse_key("2d n33 ci40 co12 g1 i1x1 k3x3 s1x1 p1x1 op0x0 d1x1 bias bf16 nhwc"),
    };
    for (const std::int64_t groups : {2, 4}) {
        const SearchSpace space = test::space_with("overlap_add", "channel_groups", groups);
        for (const Problem& p : problems)
            test::check_drawn(space, draw, p, 2);
        // Quads of a lane that are no multiple of the groups.
        test::check_drawn(space, draw, problems.front(), 2, [&](const Config& config) {
            return config.at("position_quads") * config.at("column_quads") % groups != 0;
        });
        test::check_drawn(space, draw, problems[2], 2, [](const Config& config) { return config.at("splits") > 1; });
    }
}

TEST_CASE("blocks of overlap_add whose groups share channels go on to a next tile") {
    test::Draw draw(167);
    for (const char* text : {"2d n1 ci24 co48 g1 i32x32 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                             "2d n1 ci24 co48 g1 i32x32 k3x3 s2x2 p0x0 op0x0 d1x1 bias f16 nhwc"}) {
        const Problem p = parse_key(text);
        const std::int64_t positions = 32 * 32;
        const std::int64_t columns = 48 * p.kernel[1] * p.kernel[2];
        for (const std::int64_t groups : {2, 4}) {
            const SearchSpace space = test::space_with("overlap_add", "channel_groups", groups);
            const auto several_tiles = [&](const Config& config) {
                const LaunchPlan plan = space.plan(p, test::emulated().device->info(), config);
                const std::int64_t lanes = config.at("position_lanes");
                const std::int64_t rows = 4 * lanes * config.at("position_quads") * config.at("warps_m");
                const std::int64_t width = 128 / lanes * config.at("column_quads") * config.at("warps_n");
                return (positions / rows) * (columns / width) > plan.launches.front().grid[0];
            };
            test::check_drawn(space, draw, p, 1, several_tiles);
        }
    }
}

TEST_CASE("blocks of overlap_add add up the products that meet in their outputs") {
    test::Draw draw(173);
    const SearchSpace space = test::space_with("overlap_add", "gather", 1);
    const auto any = [](const Config&) { return true; };
    for (const char* text : {
             // Several images a block, of a number of positions that is no whole number of vectors, and one.
             "2d n9 ci20 co10 g1 i3x3 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw",
             "2d n3 ci16 co3 g1 i8x8 k3x3 s2x2 p1x1 op1x1 d1x1 nobias f32 nchw",
             "3d n3 ci16 co4 g1 i2x3x4 k3x3x3 s2x1x2 p1x1x0 op0x0x1 d1x1x1 bias f16 nchw",
             // Slices, whose ends lie outside the image, also along the height and the depth.
             "1d n3 ci22 co12 g1 i203 k4 s2 p1 op0 d1 bias f32 nchw",
             "1d n2 ci24 co12 g2 i300 k16 s8 p4 op0 d1 nobias bf16 nchw",
             "1d n2 ci16 co5 g1 i167 k5 s3 p7 op2 d2 bias f32 nchw",
             "2d n2 ci16 co6 g1 i30x5 k3x2 s2x2 p1x0 op0x1 d2x1 bias f32 nchw",
             "3d n1 ci16 co4 g1 i24x2x3 k4x2x3 s2x2x2 p1x0x1 op0x0x1 d1x1x1 bias f32 nchw",
             // Phases without taps, and rows that are cropped.
             "1d n2 ci16 co8 g1 i70 k3 s2 p1 op0 d2 nobias f32 nchw",
             "2d n2 ci16 co16 g1 i6x7 k2x2 s3x4 p1x2 op2x1 d1x1 bias f32 nchw",
         }) {
        const Problem p = parse_key(text);
        INFO(text);
        test::check_drawn(space, draw, p, 2, any);
        // One launch, and nothing in a workspace that grows with the batch.
        const auto config = test::draw_config(space, draw, p, any);
        REQUIRE(config.has_value());
        CHECK(space.plan(p, test::emulated().device->info(), *config).launches.size() == 1);
    }
    int taken = 0;
    for (int round = 0; round < test::rounds(24); ++round) {
        Problem p = draw_product_problem(draw);
        p.layout = Layout::nchw;
        INFO(key(p));
        const auto config = test::draw_config(space, draw, p, any);
        if (!config) continue;
        ++taken;
        test::check_exact(space, draw, p, *config);
    }
    CHECK(taken > test::rounds(6));
}

TEST_CASE("blocks of overlap_add that gather have several tiles and groups of warps") {
    test::Draw draw(179);
    const SearchSpace space = test::space_with("overlap_add", "gather", 1);
    const Problem p = parse_key("1d n2 ci24 co48 g1 i1000 k4 s2 p1 op0 d1 bias f32 nchw");
    for (const std::int64_t groups : {1, 2, 4})
        test::check_drawn(space, draw, p, 2,
                          [&](const Config& config) { return config.at("channel_groups") == groups; });
}

TEST_CASE("operands of overlap_add come channel by channel") {
    test::Draw draw(181);
    const SearchSpace space = test::space_with("overlap_add", "operand_buffers", 1);
    for (const char* text : {"2d n2 ci37 co16 g1 i6x8 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                             "1d n2 ci70 co9 g1 i33 k16 s8 p4 op0 d1 nobias f32 nchw",
                             "2d n2 ci36 co24 g2 i5x7 k3x3 s2x2 p1x1 op1x1 d1x1 nobias f32 nhwc",
                             "3d n2 ci64 co8 g1 i3x4x4 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f16 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        test::check_drawn(space, draw, p, 3);
        test::check_drawn(space, draw, p, 1, [](const Config& config) { return config.at("channel_groups") > 1; });
    }
}

TEST_CASE("every problem that the overlap_add family takes has a default") {
    test::Draw draw(139);
    for (int round = 0; round < test::rounds(200); ++round) {
        const Problem p = draw_product_problem(draw);
        if (!overlap_add().refusal(p, test::h200()).empty()) continue;
        INFO(key(p));
        CHECK(!overlap_add().defaults(p, test::h200()).empty());
        CHECK(test::draw_config(
                  overlap_add(), draw, p, [](const Config&) { return true; }, test::h200())
                  .has_value());
    }
}

TEST_CASE("a long kernel with a large stride is gathered by overlap_add") {
    // The inverse of a short-time Fourier transform: kernel 4096, stride 1024, one channel of output.
    const Problem p = parse_key("1d n1 ci130 co1 g1 i9 k4096 s1024 p2048 op0 d1 nobias f32 nchw");
    REQUIRE(overlap_add().refusal(p, test::emulated().device->info()).empty());
    test::Draw draw(149);
    test::check_drawn(overlap_add(), draw, p, 1);
}
