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

const SearchSpace& overlap_mma() {
    return test::space_named("overlap_mma");
}

bool any(const Config&) {
    return true;
}

/// A constant of a config's kernel.
std::int64_t constant(const Problem& p, const Config& config, const char* name) {
    return overlap_mma().plan(p, test::emulated().device->info(), config).constants.at(name);
}

/// Random layers of every stride, padding and dilation, with so many positions and columns as copies ask for.
Problem draw_columns(test::Draw& draw) {
    Problem p;
    do {
        p = test::draw_problem(draw);
        p.dtype = draw.chance(50) ? DataType::f16 : DataType::bf16;
        p.in_channels = p.groups * draw.between(16, p.groups == 1 ? 200 : 80);
        p.out_channels = p.groups * 8 * draw.between(1, 3);
        p.batch = draw.between(1, 6);
        const std::int64_t positions = p.input[0] * p.input[1] * p.input[2];
        if (positions % 8 != 0) p.input[2] *= 8 / std::gcd(positions, std::int64_t{8});
    } while (output_extents(p)[2] < 1);
    return p;
}

}  // namespace

TEST_CASE("accepted overlap_mma configs of random small problems are exact in the emulator") {
    test::Draw draw(307);
    int taken = 0;
    int sliced = 0;
    for (int round = 0; round < test::rounds(24); ++round) {
        const Problem p = draw_columns(draw);
        INFO(key(p));
        if (!overlap_mma().refusal(p, test::emulated().device->info()).empty()) continue;
        const auto config = test::draw_config(overlap_mma(), draw, p, any);
        REQUIRE(config.has_value());
        ++taken;
        sliced += constant(p, *config, "whole") == 0 ? 1 : 0;
        test::check_exact(overlap_mma(), draw, p, *config);
    }
    CHECK(taken > test::rounds(12));
    CHECK(sliced > 0);
}

TEST_CASE("whole images of every size are rows of an overlap_mma product") {
    test::Draw draw(311);
    // Images of half a piece, of pieces of 16, 32 and 64 positions, of several; of one axis, two and three. Batches
    // that leave the last tile part of its images; channels that leave a stage part of its steps, and the last tile
    // part of its columns.
    for (const auto& [text, run] : {
             std::pair("1d n9 ci40 co16 g1 i8 k16 s8 p4 op0 d1 bias f16 nchw", 16),
             std::pair("2d n7 ci64 co24 g1 i4x4 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nchw", 16),
             std::pair("2d n5 ci70 co8 g1 i3x8 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nchw", 32),
             std::pair("1d n6 ci130 co36 g1 i32 k16 s8 p4 op0 d1 bias bf16 nchw", 32),
             std::pair("2d n5 ci64 co16 g1 i8x6 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nchw", 16),
             std::pair("3d n3 ci32 co8 g2 i4x4x4 k2x4x3 s2x2x1 p0x1x1 op0x0x0 d1x1x1 bias f16 nchw", 64),
             std::pair("3d n5 ci48 co16 g1 i2x2x4 k2x3x3 s1x2x3 p0x1x2 op0x1x2 d2x1x1 nobias bf16 nchw", 16),
             std::pair("2d n4 ci32 co8 g1 i1x32 k20x2 s1x2 p0x0 op0x0 d1x1 bias f16 nchw", 32),
             std::pair("1d n3 ci96 co40 g1 i120 k5 s3 p2 op2 d2 bias f16 nchw", 64),
         }) {
        const Problem p = parse_key(text);
        INFO(text);
        test::check_drawn(overlap_mma(), draw, p, 2, [&, wanted = run](const Config& drawn) {
            return constant(p, drawn, "whole") == 1 && constant(p, drawn, "run") == wanted;
        });
    }
}

TEST_CASE("images that are no rows of one overlap_mma product are sliced along the outermost axis") {
    test::Draw draw(313);
    // Among them one whose outputs are all of one slice, of a part of the image.
    for (const char* text : {"1d n2 ci40 co24 g1 i800 k16 s8 p4 op0 d1 bias f16 nchw",
                             "1d n3 ci70 co16 g1 i336 k8 s4 p0 op0 d1 bias bf16 nchw",
                             "1d n1 ci64 co48 g2 i512 k5 s2 p3 op1 d3 nobias f16 nchw",
                             "1d n2 ci32 co8 g1 i200 k3 s7 p9 op6 d1 bias f16 nchw",
                             "2d n2 ci80 co16 g1 i32x24 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nchw",
                             "2d n1 ci32 co8 g1 i41x8 k3x5 s2x3 p2x1 op1x0 d1x2 nobias bf16 nchw",
                             "2d n2 ci24 co24 g1 i40x9 k3x3 s1x2 p1x0 op0x1 d2x1 bias bf16 nchw",
                             "3d n3 ci36 co48 g2 i2x5x20 k3x1x4 s3x1x2 p3x0x3 op2x1x1 d1x4x2 nobias bf16 nchw",
                             "3d n2 ci32 co8 g1 i12x4x4 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        test::check_drawn(overlap_mma(), draw, p, 2,
                          [&](const Config& drawn) { return constant(p, drawn, "whole") == 0; });
    }
}

TEST_CASE("products with more sums than threads begin with registers for are two, of equal widths or not") {
    test::Draw draw(347);
    for (const auto& [text, columns] : {
             std::pair("3d n5 ci40 co16 g1 i4x4x4 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nchw", 216),
             std::pair("1d n12 ci72 co32 g1 i32 k16 s8 p4 op0 d1 nobias bf16 nchw", 256),
         }) {
        const Problem p = parse_key(text);
        INFO(text);
        test::check_drawn(test::space_with("overlap_mma", "tile_n", 256), draw, p, 2,
                          [&, wanted = columns](const Config& drawn) {
                              return constant(p, drawn, "product_n") == wanted && constant(p, drawn, "halves") == 2;
                          });
    }
}

TEST_CASE("every value of every parameter of the overlap_mma family is exact in the emulator") {
    const std::vector<Problem> problems{
        parse_key("1d n12 ci72 co24 g1 i32 k16 s8 p4 op0 d1 bias f16 nchw"),
        parse_key("2d n9 ci136 co16 g1 i8x6 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nchw"),
        parse_key("2d n3 ci64 co32 g1 i8x16 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nchw"),
        parse_key("1d n2 ci64 co40 g1 i360 k8 s4 p2 op0 d1 bias f16 nchw"),
    };
    test::check_every_value("overlap_mma", problems, 317);
}

TEST_CASE("blocks of the overlap_mma family take tile after tile, alone and in clusters") {
    // More tiles than the emulated device has multiprocessors, twice over; with stages that are left over from one. A
    // cluster whose second block has no images; weights of an odd number of boxes.
    test::Draw draw(331);
    const SearchSpace space = test::space_with("overlap_mma", "tile_n", 64);
    for (const char* text : {"1d n21 ci200 co72 g1 i32 k8 s4 p2 op0 d1 bias bf16 nchw",
                             "2d n5 ci130 co24 g2 i8x12 k4x2 s2x1 p1x1 op1x0 d1x1 bias f16 nchw"}) {
        const Problem p = parse_key(text);
        for (const auto& [parameter, least] :
             {std::pair("together", 1), std::pair("together", 0), std::pair("blocks", 2), std::pair("cluster", 2)}) {
            INFO(text << " " << parameter);
            test::check_drawn(space, draw, p, 1, [&, name = std::string(parameter), from = least](const Config& drawn) {
                return drawn.at("consumers") <= 2 && drawn.at(name) >= from;
            });
        }
    }
    const SearchSpace wide = test::space_with("overlap_mma", "tile_n", 192);
    test::check_drawn(wide, draw, parse_key("1d n9 ci72 co24 g1 i64 k16 s8 p4 op0 d1 bias f16 nchw"), 2,
                      [&](const Config& drawn) { return drawn.at("cluster") == 2; });
}

TEST_CASE("every problem that the overlap_mma family takes has a default") {
    test::Draw draw(337);
    int taken = 0;
    for (int round = 0; round < test::rounds(300); ++round) {
        const Problem p = draw_columns(draw);
        if (!overlap_mma().refusal(p, test::h200()).empty()) continue;
        INFO(key(p));
        CHECK(test::draw_config(overlap_mma(), draw, p, any, test::h200()).has_value());
        CHECK(!overlap_mma().defaults(p, test::h200()).empty());
        ++taken;
    }
    CHECK(taken > test::rounds(120));
}
