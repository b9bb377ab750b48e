#include <array>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/support/h200.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

namespace {

const SearchSpace& few_mma() {
    return test::space_named("few_mma");
}

bool any(const Config&) {
    return true;
}

/// Random problems of one group and few output channels, in every type and layout.
Problem draw_few_columns(test::Draw& draw) {
    constexpr std::array types{DataType::f32, DataType::f16, DataType::bf16};
    Problem p = test::draw_problem(draw);
    p.groups = 1;
    p.dtype = types[static_cast<std::size_t>(draw.between(0, 2))];
    p.layout = draw.chance(50) ? Layout::nchw : Layout::nhwc;
    p.in_channels = draw.chance(50) ? 8 * draw.between(1, 9) : draw.between(1, 40);
    p.out_channels = draw.chance(70) ? draw.between(1, 4) : draw.between(1, 16);
    // Rows of whole vectors, which random extents seldom are.
    if (draw.chance(40)) p.input[2] = 8 * draw.between(1, 6);
    return p;
}

}  // namespace

TEST_CASE("accepted few_mma configs of random small problems are exact in the emulator") {
    test::Draw draw(211);
    int taken = 0;
    for (int round = 0; round < test::rounds(50); ++round) {
        const Problem p = draw_few_columns(draw);
        INFO(key(p));
        if (!few_mma().refusal(p, test::emulated().device->info()).empty()) continue;
        ++taken;
        test::check_drawn(few_mma(), draw, p, 2);
    }
    CHECK(taken > test::rounds(25));
}

TEST_CASE("every value of every parameter of the few_mma family is exact in the emulator") {
    // Volumes, images and signals; rows of whole vectors and odd ones; lines without taps and lines that end early.
    const std::vector<Problem> problems{
        parse_key("2d n9 ci40 co4 g1 i5x24 k4x4 s2x4 p1x1 op0x2 d1x1 bias f16 nhwc"),
        parse_key("3d n2 ci20 co1 g1 i4x10x8 k3x4x3 s2x2x2 p1x1x0 op0x0x1 d1x1x1 bias bf16 nchw"),
        parse_key("2d n3 ci20 co3 g1 i8x32 k2x5 s3x2 p0x2 op1x1 d2x1 bias f32 nchw"),
        parse_key("1d n2 ci140 co1 g1 i150 k4 s8 p1 op5 d1 nobias bf16 nhwc"),
        parse_key("2d n2 ci70 co2 g1 i9x13 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f32 nhwc"),
        // Many tiles along each axis.
        parse_key("2d n1 ci16 co2 g1 i66x8 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nhwc"),
        parse_key("3d n1 ci8 co1 g1 i2x66x8 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias bf16 nchw"),
        parse_key("1d n1 ci8 co1 g1 i4200 k4 s8 p1 op5 d1 nobias bf16 nhwc"),
    };
    test::check_every_value("few_mma", problems, 223);
}

TEST_CASE("every problem that the few_mma family takes has a default") {
    test::Draw draw(227);
    for (int round = 0; round < test::rounds(200); ++round) {
        const Problem p = draw_few_columns(draw);
        if (!few_mma().refusal(p, test::h200()).empty()) continue;
        INFO(key(p));
        CHECK(!few_mma().defaults(p, test::h200()).empty());
        CHECK(test::draw_config(few_mma(), draw, p, any, test::h200()).has_value());
    }
}
