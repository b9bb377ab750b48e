#include <algorithm>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"
#include "tests/support/h200.hpp"

using namespace tconv;

namespace {

const SearchSpace& winograd() {
    return test::space_named("winograd");
}

/// Random problems in every type, channels first, with enough channels and mostly several taps a phase.
Problem draw_filtered_problem(test::Draw& draw) {
    Problem p = test::draw_typed_problem(draw);
    p.layout = Layout::nchw;
    p.in_channels = p.groups * draw.between(32, 50);
    p.out_channels = p.groups * draw.between(2, 12);
    if (draw.chance(30)) p.out_channels = p.groups * 16;
    for (std::size_t axis = 3 - static_cast<std::size_t>(p.spatial_axes); axis < 3; ++axis) {
        p.dilation[axis] = 1;
        p.stride[axis] = draw.between(1, 3);
        p.kernel[axis] = draw.between(1, 3 * p.stride[axis]);
        p.output_padding[axis] = draw.between(0, p.stride[axis] - 1);
        p.padding[axis] = std::min(draw.between(0, 3), ((p.input[axis] - 1) * p.stride[axis] + p.kernel[axis] - 1) / 2);
    }
    return p;
}

/// Axes along which an output lacks taps: an input that the kernel reaches from there lies outside the image.
int axes_that_lack_taps(const Problem& p, const Extents& output, std::int64_t index) {
    int axes = 0;
    for (std::size_t axis = 3; axis-- > 0; index /= output[axis]) {
        const std::int64_t at = index % output[axis] + p.padding[axis];
        bool lacks = false;
        for (std::int64_t tap = at % p.stride[axis]; tap < p.kernel[axis]; tap += p.stride[axis]) {
            const std::int64_t input = (at - tap) / p.stride[axis];
            lacks = lacks || at < tap || input >= p.input[axis];
        }
        axes += lacks ? 1 : 0;
    }
    return axes;
}

}  // namespace

TEST_CASE("accepted winograd configs of random small problems are right in the emulator") {
    test::Draw draw(157);
    int taken = 0;
    int apart = 0;
    for (int round = 0; round < test::rounds(40); ++round) {
        const Problem p = draw_filtered_problem(draw);
        INFO(key(p));
        if (!winograd().refusal(p, test::emulated().device->info()).empty()) continue;
        ++taken;
        for (int i = 0; i < 2; ++i) {
            const auto config = test::draw_config(winograd(), draw, p, [](const Config&) { return true; });
            REQUIRE(config.has_value());
            apart += config->at("apart_axes") > 0 ? 1 : 0;
            test::check_exact(winograd(), draw, p, *config);
        }
    }
    CHECK(taken > test::rounds(20));
    CHECK(apart > test::rounds(7));
}

TEST_CASE("every value of every parameter of the winograd family is right in the emulator") {
    const std::vector<Problem> problems{
        parse_key("2d n2 ci40 co16 g1 i8x9 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw"),
        parse_key("3d n2 ci64 co9 g1 i4x4x5 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 nobias f32 nchw"),
        parse_key("2d n1 ci32 co16 g1 i9x4 k5x1 s2x1 p2x0 op0x0 d1x1 nobias bf16 nchw"),
        parse_key("1d n7 ci72 co40 g2 i60 k16 s8 p4 op0 d1 bias f16 nchw"),
    };
    test::check_every_value("winograd", problems, 167);
}

TEST_CASE("every problem that the winograd family takes has a default") {
    test::Draw draw(173);
    for (int round = 0; round < test::rounds(200); ++round) {
        const Problem p = draw_filtered_problem(draw);
        if (!winograd().refusal(p, test::h200()).empty()) continue;
        INFO(key(p));
        CHECK(!winograd().defaults(p, test::h200()).empty());
        CHECK(test::draw_config(
                  winograd(), draw, p, [](const Config&) { return true; }, test::h200())
                  .has_value());
    }
}

TEST_CASE("winograd says that integers do not come out exact") {
    const Problem p = parse_key("1d n2 ci32 co16 g1 i20 k4 s2 p1 op0 d1 nobias f32 nchw");
    for (const Config& config : winograd().defaults(p, test::h200()))
        CHECK(!winograd().plan(p, test::h200(), config).exact_on_integers);
}

TEST_CASE("taps along the depth that winograd keeps are right") {
    test::Draw draw(181);
    const SearchSpace keeping = test::space_with("winograd", "tile_d", 1);
    for (const char* text : {"3d n3 ci32 co16 g1 i5x9x7 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw",
                             "3d n2 ci72 co8 g2 i4x6x6 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 bias f32 nchw",
                             "3d n1 ci40 co9 g1 i3x5x8 k5x3x2 s2x1x1 p3x1x0 op1x0x0 d1x1x1 bias bf16 nchw"}) {
        test::check_drawn(keeping, draw, parse_key(text), 3);
    }
}

TEST_CASE("groups of warps that share channels of winograd's products are right") {
    test::Draw draw(193);
    for (const std::int64_t groups : {2, 4}) {
        const SearchSpace space = test::space_with("winograd", "channel_groups", groups);
        for (const char* text : {"2d n2 ci37 co16 g1 i8x9 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw",
                                 "1d n3 ci40 co24 g1 i40 k3 s1 p0 op0 d1 nobias f32 nchw",
                                 "1d n5 ci72 co40 g2 i60 k16 s8 p4 op0 d1 bias f16 nchw"})
            test::check_drawn(space, draw, parse_key(text), 1);
    }
}

TEST_CASE("tiles of every size are right along every axis, with one to five taps a phase") {
    test::Draw draw(179);
    const std::vector<std::string> axes{"2d n1 ci32 co16 g1 i6x7 k%x3 s1x1 p0x1 op0x0 d1x1 nobias f32 nchw",
                                        "3d n1 ci32 co8 g1 i5x3x6 k%x1x4 s1x1x2 p0x0x1 op0x0x0 d1x1x1 bias f32 nchw",
                                        "1d n2 ci32 co16 g1 i21 k% s1 p0 op0 d1 nobias f32 nchw"};
    for (const std::string& text : axes) {
        for (const char* taps : {"1", "2", "3", "4", "5"}) {
            std::string own = text;
            const Problem p = parse_key(own.replace(own.find('%'), 1, taps));
            if (winograd().refusal(p, test::emulated().device->info()).empty())
                test::check_drawn(winograd(), draw, p, 1);
        }
    }
}

TEST_CASE("outputs that lack taps on so many axes as winograd is told are exact on integers") {
    test::Draw draw(191);
    const std::vector<Problem> problems{
        parse_key("3d n2 ci32 co9 g1 i9x6x8 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw"),
        parse_key("3d n5 ci34 co4 g1 i6x5x7 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw"),
        parse_key("2d n1 ci72 co20 g2 i9x8 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw"),
        parse_key("2d n3 ci33 co16 g1 i12x9 k5x3 s1x1 p3x0 op0x0 d1x1 nobias f32 nchw"),
        parse_key("1d n6 ci40 co11 g1 i30 k9 s3 p1 op2 d1 bias f32 nchw"),
    };
    int seen = 0;
    for (const std::int64_t axes : {1, 2, 3}) {
        const SearchSpace space = test::space_with("winograd", "direct_border", axes);
        for (const Problem& p : problems) {
            const auto config = test::draw_config(space, draw, p, [](const Config&) { return true; });
            if (!config) continue;
            ++seen;
            const Extents output = output_extents(p);
            test::check_exact(space, draw, p, *config, 8, test::emulator_machine(), [&](std::size_t index) {
                return axes_that_lack_taps(p, output, static_cast<std::int64_t>(index)) >= axes;
            });
        }
    }
    CHECK(seen >= 8);
}
