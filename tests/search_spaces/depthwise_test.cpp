#include <array>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/support/h200.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

namespace {

const SearchSpace& depthwise() {
    return test::space_named("depthwise");
}

bool any(const Config&) {
    return true;
}

/// Random problems of few channels a group in every type and layout.
Problem draw_grouped_problem(test::Draw& draw) {
    constexpr std::array types{DataType::f32, DataType::f16, DataType::bf16};
    Problem p = test::draw_problem(draw);
    p.groups = draw.chance(50) ? draw.between(1, 9) : 8 * draw.between(1, 3);
    p.in_channels = p.groups * (draw.chance(60) ? 1 : draw.between(1, 4));
    p.out_channels = p.groups * (draw.chance(60) ? 1 : draw.between(1, 4));
    p.dtype = types[static_cast<std::size_t>(draw.between(0, 2))];
    p.layout = draw.chance(50) ? Layout::nchw : Layout::nhwc;
    // Rows of whole vectors, which random extents seldom are.
    if (draw.chance(30)) {
        p.input[2] = 8 * draw.between(1, 3);
        p.kernel[2] = p.stride[2] = draw.between(1, 4);
        p.dilation[2] = 1;
        p.padding[2] = p.output_padding[2] = 0;
    }
    return p;
}

}  // namespace

TEST_CASE("accepted depthwise configs of random small problems are exact in the emulator") {
    test::Draw draw(73);
    int taken = 0;
    for (int round = 0; round < test::rounds(80); ++round) {
        const Problem p = draw_grouped_problem(draw);
        INFO(key(p));
        if (!depthwise().refusal(p, test::emulated().device->info()).empty()) continue;
        ++taken;
        test::check_drawn(depthwise(), draw, p, 2);
    }
    CHECK(taken > test::rounds(40));
}

TEST_CASE("every value of every parameter of the depthwise family is exact in the emulator") {
    // Rows of whole vectors and odd ones, channels last with many and with few channels, several channels a group.
    const std::vector<Problem> problems{
        parse_key("2d n2 ci4 co8 g4 i9x48 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nchw"),
        parse_key("3d n2 ci6 co9 g3 i5x4x9 k3x3x3 s2x2x2 p1x1x1 op0x0x0 d1x1x1 bias f32 nchw"),
        parse_key("3d n2 ci5 co5 g5 i4x5x9 k4x4x4 s2x2x2 p1x1x1 op0x0x1 d1x1x1 bias f32 nchw"),
        parse_key("2d n3 ci40 co40 g40 i6x7 k3x3 s2x2 p1x1 op1x0 d1x1 bias bf16 nhwc"),
        parse_key("1d n2 ci4 co16 g4 i50 k3 s1 p1 op0 d1 nobias f32 nchw"),
        parse_key("2d n2 ci64 co64 g64 i5x5 k2x2 s1x1 p0x0 op0x0 d1x1 nobias f16 nhwc"),
        parse_key("3d n1 ci3 co3 g3 i8x4x4 k2x2x2 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw"),
    };
    test::check_every_value("depthwise", problems, 79);
}

TEST_CASE("every problem that the depthwise family takes has a default, and it keeps to plain fp32 arithmetic") {
    test::Draw draw(83);
    for (int round = 0; round < test::rounds(200); ++round) {
        const Problem p = draw_grouped_problem(draw);
        if (!depthwise().refusal(p, test::h200()).empty()) continue;
        INFO(key(p));
        CHECK(!depthwise().defaults(p, test::h200()).empty());
        CHECK(test::draw_config(depthwise(), draw, p, any, test::h200()).has_value());
    }
}
