#include <array>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/support/h200.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

namespace {

const SearchSpace& few_outputs() {
    return test::space_named("few_outputs");
}

bool any(const Config&) {
    return true;
}

/// Random problems of few output channels and more input channels, in every type and layout.
Problem draw_reducing_problem(test::Draw& draw) {
    constexpr std::array types{DataType::f32, DataType::f16, DataType::bf16};
    Problem p = test::draw_problem(draw);
    p.dtype = types[static_cast<std::size_t>(draw.between(0, 2))];
    p.layout = draw.chance(60) ? Layout::nchw : Layout::nhwc;
    p.in_channels = p.groups * (draw.chance(30) ? 8 * draw.between(1, 3) : draw.between(1, 20));
    p.out_channels = p.groups * draw.between(1, 8);
    // Rows of whole vectors, which random extents seldom are.
    if (draw.chance(40)) {
        p.input[2] = 8 * draw.between(1, 3);
        p.kernel[2] = p.stride[2] = draw.between(1, 4);
        p.dilation[2] = 1;
        p.padding[2] = p.output_padding[2] = 0;
    }
    return p;
}

}  // namespace

TEST_CASE("accepted few_outputs configs of random small problems are exact in the emulator") {
    test::Draw draw(97);
    int taken = 0;
    for (int round = 0; round < test::rounds(60); ++round) {
        const Problem p = draw_reducing_problem(draw);
        INFO(key(p));
        if (!few_outputs().refusal(p, test::emulated().device->info()).empty()) continue;
        ++taken;
        test::check_drawn(few_outputs(), draw, p, 2);
    }
    CHECK(taken > test::rounds(25));
}

TEST_CASE("every value of every parameter of the few_outputs family is exact in the emulator") {
    // Rows of whole vectors and odd ones, one channel and several, one phase and many, every type and layout.
    const std::vector<Problem> problems{
        parse_key("2d n2 ci19 co1 g1 i9x48 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw"),
        parse_key("3d n2 ci12 co6 g2 i5x4x9 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f32 nchw"),
        parse_key("3d n1 ci8 co4 g1 i5x5x8 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw"),
        parse_key("1d n2 ci40 co8 g1 i300 k3 s1 p1 op0 d1 nobias f32 nchw"),
        parse_key("2d n2 ci9 co1 g1 i9x48 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nchw"),
        parse_key("2d n2 ci16 co3 g1 i9x13 k4x4 s2x2 p1x1 op0x0 d1x1 bias bf16 nhwc"),
        parse_key("1d n2 ci9 co5 g1 i30 k5 s2 p2 op1 d1 nobias f32 nchw"),
        parse_key("1d n1 ci4 co6 g1 i20 k4 s2 p1 op0 d1 bias f32 nchw"),
        parse_key("2d n1 ci10 co7 g1 i6x7 k2x3 s1x1 p0x1 op0x0 d1x2 nobias f32 nchw"),
        parse_key("3d n1 ci8 co1 g1 i8x6x6 k2x2x2 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw"),
    };
    test::check_every_value("few_outputs", problems, 101);
}

TEST_CASE("every problem that the few_outputs family takes has a default") {
    test::Draw draw(103);
    for (int round = 0; round < test::rounds(200); ++round) {
        const Problem p = draw_reducing_problem(draw);
        if (!few_outputs().refusal(p, test::h200()).empty()) continue;
        INFO(key(p));
        CHECK(!few_outputs().defaults(p, test::h200()).empty());
        CHECK(test::draw_config(few_outputs(), draw, p, any, test::h200()).has_value());
    }
}

TEST_CASE("channels-last configs of the few_outputs family are exact in the emulator") {
    test::Draw draw(107);
    for (const char* text : {"3d n2 ci16 co1 g1 i5x4x9 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 bias f16 nhwc",
                             "2d n2 ci24 co3 g1 i9x10 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nhwc",
                             "2d n1 ci12 co6 g2 i9x10 k9x9 s4x4 p4x4 op3x3 d1x1 bias f32 nhwc",
                             "1d n2 ci40 co8 g1 i60 k3 s1 p1 op0 d1 nobias f32 nhwc"})
        test::check_drawn(few_outputs(), draw, parse_key(text), 4);
}

TEST_CASE("inputs of few outputs that come in boxes are exact") {
    // Windows that begin before the tensor and end behind it, tiles cut off at every end, rows of several types.
    const auto boxes = [](const Config& config) { return config.at("box_width") > 0; };
    test::Draw draw(109);
    for (const char* text : {"3d n3 ci8 co1 g1 i5x7x16 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw",
                             "2d n2 ci12 co6 g2 i21x40 k9x9 s4x4 p4x4 op3x3 d1x1 bias f32 nchw",
                             "2d n2 ci20 co4 g1 i9x72 k3x5 s1x2 p2x0 op0x1 d2x1 nobias f16 nchw",
                             "1d n2 ci40 co8 g1 i264 k3 s1 p1 op0 d1 bias bf16 nchw"})
        test::check_drawn(few_outputs(), draw, parse_key(text), 3, boxes);
}

TEST_CASE("runs of a tile that begins before the tensor are all written") {
    // Two tiles along the height, and one along the depth whose first output lies before the tensor.
    const Problem p = parse_key("3d n1 ci10 co3 g1 i1x3x24 k2x3x3 s5x2x3 p1x2x0 op1x2x0 d4x4x1 bias f32 nchw");
    const Config config{{"ahead", 1},        {"asked_ahead", 0},  {"block_size", 32}, {"box_channels", 1},
                        {"box_stages", 2},   {"box_width", 0},    {"channels", 1},    {"load_vector", 1},
                        {"min_blocks", 1},   {"positions_d", 1},  {"positions_h", 3}, {"positions_w", 1},
                        {"shifted_axes", 1}, {"source_order", 0}, {"splits", 2},      {"staged_store", 1},
                        {"store_vector", 2}, {"tap_order", 0}};
    const SearchSpace& space = test::space_named("few_outputs");
    REQUIRE(space.violation(p, test::emulated().device->info(), config) == "");
    test::Draw draw(89);
    test::check_exact(space, draw, p, config);
}
