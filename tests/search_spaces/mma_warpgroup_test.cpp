#include <algorithm>
#include <string>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"

using namespace tconv;

namespace {

const SearchSpace& warpgroups() {
    static const SearchSpace space = test::space_with("mma", "backend", 1);
    return space;
}

/// Random configs of a problem whose warps multiply four by four, and that have these values, are exact on integers of
/// at most `largest`.
void check_warpgroups(const std::string& problem, const Config& values, test::Largest largest = 8) {
    const Problem p = parse_key(problem);
    test::Draw draw(97);
    for (int round = 0; round < test::rounds(2); ++round) {
        const auto config = test::draw_config(warpgroups(), draw, p, [&](const Config& drawn) {
            return std::all_of(values.begin(), values.end(),
                               [&](const auto& value) { return drawn.at(value.first) == value.second; });
        });
        INFO(problem << " with " << to_string(values));
        REQUIRE(config.has_value());
        test::check_exact(warpgroups(), draw, p, *config, largest);
    }
}

}  // namespace

TEST_CASE("warps that multiply four by four are exact for every type, layout and kind of load") {
    for (const char* problem : {"2d n2 ci20 co24 g1 i9x16 k3x3 s1x1 p1x1 op0x0 d1x1 bias f32 nchw",
                                "2d n3 ci16 co12 g1 i10x12 k3x4 s1x1 p0x0 op0x0 d1x1 nobias f16 nchw",
                                "2d n3 ci16 co20 g2 i10x12 k2x3 s1x1 p0x1 op0x0 d1x1 nobias f32 nhwc",
                                "1d n2 ci40 co24 g1 i150 k3 s1 p1 op0 d2 bias bf16 nhwc"}) {
        const bool boxes = parse_key(problem).layout == Layout::nhwc || parse_key(problem).dtype == DataType::f32;
        for (const std::int64_t loads : {0, 1}) {
            if (loads == 0 || boxes) check_warpgroups(problem, {{"loads", loads}});
        }
    }
}

TEST_CASE("four warps multiply with every arithmetic") {
    const std::string problem = "3d n1 ci20 co10 g1 i4x7x12 k3x2x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw";
    for (const std::int64_t math : {1, 2, 3})
        check_warpgroups(problem, {{"math", math}});
    for (const std::int64_t reuse_rows : {0, 1})
        check_warpgroups(problem, {{"tap_pairs", 1}, {"reuse_rows", reuse_rows}});
    for (const test::Largest largest : {test::Largest{30000, 3}, test::Largest{3, 30000}})
        check_warpgroups(problem, {{"math", 3}}, largest);
}

TEST_CASE("phases lie side by side in products of four warps, or each has its own") {
    // Every phase with a tap at every offset; some without; a phase without any tap.
    for (const char* problem : {"2d n2 ci20 co16 g1 i9x14 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw",
                                "1d n2 ci24 co16 g1 i150 k2 s3 p0 op1 d1 nobias bf16 nhwc"}) {
        for (const std::int64_t joined_axes : {0, 1, 2}) {
            const Problem p = parse_key(problem);
            if (joined_axes == 2 && p.stride[1] == 1) continue;
            check_warpgroups(problem, {{"joined_axes", joined_axes}});
        }
    }
    check_warpgroups("2d n2 ci16 co24 g1 i8x13 k3x3 s2x2 p1x1 op1x1 d1x1 nobias f32 nchw", {{"joined_axes", 2}});
    check_warpgroups("2d n2 ci20 co40 g1 i9x14 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                     {{"joined_axes", 2}, {"warps_n", 2}});
    check_warpgroups("2d n2 ci9 co3 g1 i12x14 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw",
                     {{"joined_axes", 2}, {"packed_columns", 1}});
}

TEST_CASE("four warps take weights that stay, and columns of rows that serve several taps") {
    check_warpgroups("1d n2 ci24 co10 g1 i700 k5 s2 p1 op0 d1 bias f32 nchw",
                     {{"resident_weights", 1}, {"joined_axes", 1}});
    check_warpgroups("3d n2 ci9 co24 g1 i9x8x12 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw",
                     {{"reuse_rows", 1}, {"loads", 1}});
}

TEST_CASE("what a lane reads of a row serves all taps along the width") {
    // Words of a row begin at even and at odd ones; offsets are odd and even in number.
    for (const char* problem : {"3d n1 ci12 co24 g1 i5x8x16 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw",
                                "2d n2 ci9 co16 g1 i10x20 k2x4 s1x1 p0x1 op0x0 d1x1 nobias f32 nchw",
                                "2d n2 ci12 co16 g1 i12x16 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw"}) {
        for (const std::int64_t math : {1, 3}) {
            for (const std::int64_t loads : {0, 1})
                check_warpgroups(problem, {{"reuse_columns", 1}, {"math", math}, {"loads", loads}});
        }
        check_warpgroups(problem, {{"reuse_columns", 1}, {"direct_store", 1}});
    }
    check_warpgroups("3d n1 ci12 co24 g1 i5x8x16 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw",
                     {{"reuse_columns", 1}, {"reuse_rows", 1}});
    check_warpgroups("1d n3 ci24 co24 g1 i150 k5 s1 p2 op0 d1 bias bf16 nchw", {{"reuse_columns", 1}});
}

TEST_CASE("accepted configs of four warps together are exact on random small problems") {
    test::Draw draw(101);
    int found = 0;
    for (int round = 0; round < test::rounds(30); ++round) {
        const Problem p = test::draw_typed_problem(draw);
        const auto config = test::draw_config(warpgroups(), draw, p, [](const Config&) { return true; });
        if (!config) continue;
        ++found;
        test::check_exact(warpgroups(), draw, p, *config);
    }
    CHECK(found > 0);
}
