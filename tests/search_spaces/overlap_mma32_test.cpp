#include <numeric>
#include <string>
#include <utility>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/support/h200.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

namespace {

const SearchSpace& overlap_mma32() {
    return test::space_named("overlap_mma32");
}

bool any(const Config&) {
    return true;
}

/// A constant of a config's kernel.
std::int64_t constant32(const Problem& p, const Config& config, const char* name) {
    return overlap_mma32().plan(p, test::emulated().device->info(), config).constants.at(name);
}

/// Random layers of every stride, padding and dilation, with so many positions and columns as copies ask for.
Problem draw_fp32_columns(test::Draw& draw) {
    Problem p;
    do {
        p = test::draw_problem(draw);
        p.dtype = DataType::f32;
        p.in_channels = p.groups * draw.between(16, p.groups == 1 ? 150 : 70);
        p.out_channels = p.groups * 4 * draw.between(1, 5);
        p.batch = draw.between(1, 6);
        const std::int64_t positions = p.input[0] * p.input[1] * p.input[2];
        if (positions % 4 != 0) p.input[2] *= 4 / std::gcd(positions, std::int64_t{4});
    } while (output_extents(p)[2] < 1);
    return p;
}

}  // namespace

TEST_CASE("accepted overlap_mma32 configs of random small problems are exact in the emulator") {
    test::Draw draw(401);
    int taken = 0;
    int sliced = 0;
    int split = 0;
    for (int round = 0; round < test::rounds(16); ++round) {
        const Problem p = draw_fp32_columns(draw);
        INFO(key(p));
        if (!overlap_mma32().refusal(p, test::emulated().device->info()).empty()) continue;
        const auto config = test::draw_config(overlap_mma32(), draw, p, any);
        REQUIRE(config.has_value());
        ++taken;
        sliced += constant32(p, *config, "whole") == 0 ? 1 : 0;
        split += config->at("math") == 3 ? 1 : 0;
        test::check_exact(overlap_mma32(), draw, p, *config);
    }
    CHECK(taken > test::rounds(8));
    CHECK(sliced > 0);
    CHECK(split > 0);
}

TEST_CASE("whole images of every size are positions of an overlap_mma32 product") {
    test::Draw draw(409);
    // Images of 4 positions and more, of one axis, two and three; batches that leave the last tile part of its images,
    // channels that leave a stage part of its eights and the last tile part of its columns; positions beside the last
    // image that belong to none.
    for (const char* text : {
             "1d n9 ci40 co18 g1 i4 k16 s8 p4 op0 d1 bias f32 nchw",
             "2d n7 ci64 co24 g1 i4x4 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f32 nchw",
             "2d n5 ci70 co8 g1 i3x8 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw",
             "2d n6 ci53 co12 g1 i5x4 k3x1 s2x2 p1x0 op1x1 d1x1 bias f32 nchw",
             "1d n6 ci130 co36 g1 i32 k16 s8 p4 op0 d1 bias f32 nchw",
             "3d n3 ci32 co8 g2 i4x4x4 k2x4x3 s2x2x1 p0x1x1 op0x0x0 d1x1x1 bias f32 nchw",
             "3d n5 ci48 co16 g1 i2x2x4 k2x3x3 s1x2x3 p0x1x2 op0x1x2 d2x1x1 nobias f32 nchw",
             "1d n3 ci96 co40 g1 i60 k5 s3 p2 op2 d2 bias f32 nchw",
         }) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const std::int64_t math : {1, 3})
            test::check_drawn(overlap_mma32(), draw, p, 1, [&](const Config& drawn) {
                return drawn.at("math") == math && constant32(p, drawn, "whole") == 1;
            });
    }
}

TEST_CASE("images that are no positions of one overlap_mma32 product are sliced along the outermost axis") {
    test::Draw draw(419);
    // Among them one whose outputs are all of one slice, of a part of the image.
    for (const char* text : {"1d n2 ci40 co24 g1 i500 k16 s8 p4 op0 d1 bias f32 nchw",
                             "1d n3 ci70 co16 g1 i336 k8 s4 p0 op0 d1 bias f32 nchw",
                             "1d n1 ci64 co48 g2 i260 k5 s2 p3 op1 d3 nobias f32 nchw",
                             "1d n2 ci32 co8 g1 i200 k3 s7 p9 op6 d1 bias f32 nchw",
                             "2d n2 ci80 co16 g1 i32x10 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw",
                             "2d n1 ci32 co8 g1 i40x7 k3x5 s2x3 p2x1 op1x0 d1x2 nobias f32 nchw",
                             "3d n3 ci36 co48 g2 i2x5x20 k3x1x4 s3x1x2 p3x0x3 op2x1x1 d1x4x2 nobias f32 nchw",
                             "3d n2 ci32 co8 g1 i12x4x4 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f32 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const std::int64_t math : {1, 3})
            test::check_drawn(overlap_mma32(), draw, p, 1, [&](const Config& drawn) {
                return drawn.at("math") == math && constant32(p, drawn, "whole") == 0;
            });
    }
}

TEST_CASE("every value of every parameter of the overlap_mma32 family is exact in the emulator") {
    const std::vector<Problem> problems{
        parse_key("1d n12 ci72 co24 g1 i32 k16 s8 p4 op0 d1 bias f32 nchw"),
        parse_key("2d n9 ci104 co32 g1 i8x6 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f32 nchw"),
        parse_key("2d n3 ci64 co64 g1 i8x16 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw"),
        parse_key("1d n2 ci64 co72 g1 i360 k8 s4 p2 op0 d1 bias f32 nchw"),
    };
    test::check_every_value("overlap_mma32", problems, 431);
}

TEST_CASE("blocks of the overlap_mma32 family take tile after tile, alone and in clusters") {
    // More tiles than the emulated device has multiprocessors, twice over; with stages that are left over from one. A
    // cluster whose second block has no images.
    test::Draw draw(433);
    for (const char* text : {"1d n21 ci200 co72 g1 i32 k8 s4 p2 op0 d1 bias f32 nchw",
                             "2d n5 ci130 co24 g2 i8x12 k4x2 s2x1 p1x1 op1x0 d1x1 bias f32 nchw"}) {
        const Problem p = parse_key(text);
        for (const auto& [parameter, least] : {std::pair("blocks", 2), std::pair("cluster", 2), std::pair("rows", 2)}) {
            INFO(text << " " << parameter);
            test::check_drawn(
                overlap_mma32(), draw, p, 1, [&, name = std::string(parameter), from = least](const Config& drawn) {
                    return drawn.at("tile_n") <= 128 && drawn.at("consumers") <= 2 && drawn.at(name) >= from;
                });
        }
    }
}

TEST_CASE("every problem that the overlap_mma32 family takes has a default of either arithmetic") {
    test::Draw draw(439);
    int taken = 0;
    for (int round = 0; round < test::rounds(300); ++round) {
        const Problem p = draw_fp32_columns(draw);
        if (!overlap_mma32().refusal(p, test::h200()).empty()) continue;
        INFO(key(p));
        CHECK(test::draw_config(overlap_mma32(), draw, p, any, test::h200()).has_value());
        std::int64_t maths = 0;
        for (const Config& config : overlap_mma32().defaults(p, test::h200()))
            maths |= config.at("math");
        CHECK(maths == 3);
        ++taken;
    }
    CHECK(taken > test::rounds(120));
}
