#include <algorithm>
#include <string>

#include "tests/catch.hpp"
#include "tests/search_spaces/exact.hpp"

using namespace tconv;

namespace {

const SearchSpace& mma() {
    return test::space_named("mma");
}

/// Random configs of a problem that have these values are exact on integers of at most `largest`.
void check_variant(const std::string& problem, const Config& values, test::Largest largest = 8) {
    const Problem p = parse_key(problem);
    test::Draw draw(83);
    for (int round = 0; round < test::rounds(2); ++round) {
        const auto config = test::draw_config(mma(), draw, p, [&](const Config& drawn) {
            return std::all_of(values.begin(), values.end(),
                               [&](const auto& value) { return drawn.at(value.first) == value.second; });
        });
        INFO(problem << " with " << to_string(values));
        REQUIRE(config.has_value());
        test::check_exact(mma(), draw, p, *config, largest);
    }
}

}  // namespace

TEST_CASE("pairs of offsets are exact, with an offset that stands alone and without") {
    for (const char* problem : {"3d n2 ci13 co10 g1 i3x4x9 k3x3x3 s1x1x1 p1x0x0 op0x0x0 d1x1x1 bias f32 nchw",
                                "2d n3 ci9 co5 g1 i5x12 k3x4 s1x2 p0x1 op0x0 d1x1 nobias f32 nhwc",
                                "1d n2 ci20 co17 g1 i60 k5 s3 p2 op0 d1 nobias f32 nchw"})
        check_variant(problem, {{"tap_pairs", 1}});
    check_variant("2d n2 ci9 co2 g1 i7x9 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw",
                  {{"tap_pairs", 1}, {"packed_columns", 1}, {"joined_axes", 1}});
}

// A bfloat16 number has eight bits: larger integers have a low part. A product of two low parts is left out, so only
// one side is large.
TEST_CASE("split bf16 keeps the low parts of inputs and of weights") {
    const std::string problem = "2d n2 ci20 co9 g1 i4x9 k2x3 s1x1 p0x1 op0x0 d1x1 nobias f32 nchw";
    for (const std::int64_t tap_pairs : {0, 1}) {
        for (const test::Largest largest : {test::Largest{30000, 3}, test::Largest{3, 30000}})
            check_variant(problem, {{"math", 3}, {"tap_pairs", tap_pairs}}, largest);
    }
}

TEST_CASE("boxes bring the input of every type, layout, group and border") {
    for (const char* problem : {"3d n2 ci13 co10 g1 i3x5x8 k3x3x3 s1x1x1 p1x0x2 op0x0x0 d1x1x1 bias f32 nchw",
                                "2d n3 ci16 co24 g2 i6x12 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f32 nchw",
                                "2d n3 ci12 co7 g1 i6x7 k3x3 s2x2 p1x0 op1x0 d1x1 nobias f32 nhwc",
                                "3d n5 ci24 co16 g1 i2x2x3 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias bf16 nhwc",
                                "1d n2 ci32 co18 g2 i50 k7 s3 p2 op0 d2 bias f16 nhwc"})
        check_variant(problem, {{"loads", 1}});
}

// Groups of even and odd numbers of channels; rows and positions that are whole vectors, and such that are not.
TEST_CASE("16-bit input that is packed in pairs of channels is exact with either kind of load") {
    for (const char* problem : {"3d n2 ci13 co10 g1 i3x5x8 k3x3x3 s1x1x1 p1x0x2 op0x0x0 d1x1x1 bias f16 nchw",
                                "2d n3 ci32 co24 g2 i6x12 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nchw",
                                "1d n2 ci70 co18 g1 i500 k7 s3 p2 op0 d2 bias bf16 nchw"}) {
        for (const std::int64_t loads : {0, 1})
            check_variant(problem, {{"pack_input", 1}, {"loads", loads}});
    }
    for (const char* problem : {"2d n5 ci22 co6 g2 i5x7 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nchw",
                                "2d n2 ci17 co8 g1 i9x6 k3x3 s1x1 p1x1 op0x0 d1x1 bias bf16 nchw"})
        check_variant(problem, {{"pack_input", 1}, {"loads", 0}});
    // What a lane reads serves all taps along the width and along the height, as in fp32.
    check_variant("3d n2 ci35 co24 g1 i6x7x16 k3x3x3 s1x1x1 p0x1x0 op0x0x0 d1x1x1 bias f16 nchw",
                  {{"pack_input", 1}, {"loads", 1}, {"reuse_columns", 1}, {"reuse_rows", 1}});
}

TEST_CASE("weights stay in shared memory with either kind of load") {
    const std::string problem = "1d n2 ci24 co10 g1 i64 k5 s2 p1 op0 d1 bias f32 nchw";
    for (const std::int64_t loads : {0, 1})
        check_variant(problem, {{"resident_weights", 1}, {"loads", loads}, {"joined_axes", 1}});
}

TEST_CASE("reused rows take columns that go on in the next row and plane") {
    const std::string problem = "3d n2 ci9 co10 g1 i7x8x12 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw";
    for (const std::int64_t tile_w : {12, 14}) {
        for (const std::int64_t loads : {0, 1})
            check_variant(problem, {{"reuse_rows", 1}, {"tile_w", tile_w}, {"loads", loads}});
    }
}

TEST_CASE("rows are reused only where the offsets along the height are dense") {
    const Problem p = parse_key("2d n2 ci9 co10 g1 i8x16 k3x3 s1x1 p0x0 op0x0 d2x1 bias f32 nchw");
    test::Draw draw(89);
    CHECK(!test::draw_config(mma(), draw, p, [](const Config& config) { return config.at("reuse_rows") == 1; }));
}

TEST_CASE("outputs go from registers to the tensor at every alignment") {
    for (const char* problem : {"2d n2 ci9 co10 g1 i6x16 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                                "2d n2 ci9 co10 g1 i6x13 k4x4 s2x2 p1x1 op0x1 d1x1 nobias f32 nchw",
                                "2d n2 ci9 co10 g1 i6x13 k3x3 s1x1 p1x1 op0x0 d1x1 nobias f32 nchw",
                                "1d n2 ci20 co12 g1 i40 k4 s4 p0 op0 d1 bias f16 nchw",
                                "2d n2 ci10 co12 g1 i4x7 k1x3 s3x1 p0x1 op0x0 d1x1 bias bf16 nchw"})
        check_variant(problem, {{"direct_store", 1}});
}

TEST_CASE("a lane may have neighbouring rows where no tap needs a halo") {
    for (const char* problem : {"2d n2 ci9 co10 g1 i6x16 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                                "1d n2 ci20 co12 g1 i40 k4 s4 p1 op0 d1 bias f16 nchw"}) {
        for (const std::int64_t direct_store : {0, 1})
            check_variant(problem, {{"row_pairs", 1}, {"direct_store", direct_store}, {"joined_axes", 1}});
    }
}
