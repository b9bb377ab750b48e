#include <string>
#include <utility>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"

using namespace tconv;

namespace {

const SearchSpace& hopper() {
    return test::space_named("hopper");
}

}  // namespace

TEST_CASE("16-bit tensors that are read as they lie, channels first, are exact") {
    test::Draw draw(79);
    // Entries of one run of 64 positions, of several, of half of one; rows of every length; cropped borders; groups
    // whose channels are no whole blocks; phases along some axes alone.
    for (const char* text : {"2d n3 ci40 co24 g1 i8x8 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nchw",
                             "2d n2 ci130 co64 g1 i12x10 k2x2 s2x2 p0x0 op0x0 d1x1 bias bf16 nchw",
                             "2d n5 ci70 co36 g2 i4x6 k2x2 s2x2 p0x0 op0x0 d1x1 nobias f16 nchw",
                             "2d n1 ci64 co32 g1 i5x128 k2x2 s2x2 p0x0 op0x0 d1x1 bias bf16 nchw",
                             "2d n2 ci36 co16 g1 i8x9 k4x4 s4x4 p2x1 op0x0 d1x1 bias f16 nchw",
                             "2d n2 ci36 co16 g1 i9x16 k2x4 s2x4 p1x8 op0x0 d1x1 bias f16 nchw",
                             "1d n3 ci64 co64 g1 i200 k8 s8 p3 op0 d1 nobias f16 nchw",
                             "1d n2 ci96 co72 g1 i104 k1 s1 p2 op0 d3 bias bf16 nchw",
                             "3d n3 ci80 co40 g1 i4x4x4 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f16 nchw",
                             "3d n1 ci64 co24 g1 i3x7x8 k1x2x2 s1x2x2 p0x0x1 op0x0x0 d1x1x1 bias bf16 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const auto& [input, weights] : {std::pair(1, 1), std::pair(1, 0), std::pair(0, 1)}) {
            test::check_drawn(hopper(), draw, p, 1, [&, in = input, w = weights](const Config& drawn) {
                return drawn.at("raw_input") == in && drawn.at("raw_weights") == w;
            });
        }
    }
}

TEST_CASE("fp32 inputs that are read as they lie, in order, are exact") {
    test::Draw draw(257);
    const SearchSpace space = test::space_with("hopper", "raw_input", 1);
    // Entries of half a run, of several and a part; channels that are no whole blocks, nor groups'; cropped borders.
    for (const char* text : {"2d n3 ci70 co40 g1 i9x12 k2x2 s2x2 p0x0 op0x0 d1x1 nobias f32 nchw",
                             "3d n3 ci40 co16 g1 i3x3x4 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw",
                             "1d n5 ci100 co24 g1 i76 k4 s4 p1 op0 d1 bias f32 nchw",
                             "2d n2 ci96 co48 g2 i5x12 k2x4 s2x4 p0x0 op0x0 d1x1 bias f32 nchw",
                             "2d n2 ci64 co64 g1 i16x12 k1x1 s1x1 p0x0 op0x0 d1x1 bias f32 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const int math : {1, 3})
            test::check_drawn(space, draw, p, 2, [&](const Config& drawn) { return drawn.at("math") == math; });
    }
    const Problem p = parse_key("2d n3 ci256 co72 g1 i7x16 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw");
    for (const auto& [parameter, least] :
         {std::pair("splits", 2), std::pair("cluster", 2), std::pair("resident", 1), std::pair("blocks", 2)}) {
        INFO(parameter);
        test::check_drawn(space, draw, p, 1, [&, name = std::string(parameter), from = least](const Config& drawn) {
            return drawn.at(name) >= from;
        });
    }
}

TEST_CASE("random layers whose kernel is the stride are exact with positions in order, tensors as they lie") {
    test::Draw draw(97);
    for (const char* parameter : {"flat", "raw_input", "raw_weights"}) {
        int checked = 0;
        while (checked < test::rounds(6)) {
            Problem p = test::draw_upsampling(draw);
            if (parameter != std::string("flat")) {
                p.dtype = draw.chance(50) ? DataType::f16 : DataType::bf16;
                p.layout = Layout::nchw;
            }
            const auto config =
                test::draw_config(hopper(), draw, p, [&](const Config& drawn) { return drawn.at(parameter) == 1; });
            if (!config) continue;
            test::check_exact(hopper(), draw, p, *config);
            ++checked;
        }
    }
}

TEST_CASE("a layer whose tensors are read as they lie is one launch") {
    const Problem p = parse_key("2d n8 ci128 co64 g1 i256x256 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nchw");
    test::Draw draw(83);
    const auto config = test::draw_config(hopper(), draw, p, [](const Config& drawn) {
        return drawn.at("raw_input") == 1 && drawn.at("raw_weights") == 1 && drawn.at("splits") == 1;
    });
    REQUIRE(config.has_value());
    const LaunchPlan plan = hopper().plan(p, test::emulated().device->info(), *config);
    CHECK(plan.launches.size() == 1);
    CHECK(plan.packed_weight_bytes == 0);
}

TEST_CASE("tensors are read as they lie only where no tap shifts them and rows begin at 16 bytes") {
    const auto accepts = [](const std::string& text, const std::string& parameter) {
        test::Draw draw(89);
        const SearchSpace space = test::space_with("hopper", parameter, 1);
        return test::draw_config(space, draw, parse_key(text), [](const Config&) { return true; }).has_value();
    };
    const std::string upsampling = "2d n8 ci64 co64 g1 i16x16 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nchw";
    CHECK(accepts(upsampling, "raw_input"));
    CHECK(accepts(upsampling, "raw_weights"));
    CHECK(accepts("2d n8 ci64 co64 g1 i6x6 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw", "raw_input"));
    for (const char* text : {"2d n8 ci64 co64 g1 i16x16 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nchw",
                             "2d n8 ci64 co64 g1 i16x16 k3x3 s1x1 p1x1 op0x0 d1x1 bias f16 nchw",
                             "2d n8 ci64 co64 g1 i15x15 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                             "2d n8 ci64 co64 g1 i16x16 k3x2 s2x2 p0x0 op0x0 d1x1 bias f16 nchw"}) {
        INFO(text);
        CHECK_FALSE(accepts(text, "raw_input"));
        CHECK_FALSE(accepts(text, "raw_weights"));
    }
    CHECK_FALSE(accepts("2d n8 ci64 co64 g1 i14x14 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nchw", "raw_input"));
    CHECK_FALSE(accepts("2d n8 ci64 co64 g1 i16x16 k2x2 s2x2 p0x0 op1x0 d1x1 bias f16 nchw", "flat"));
    CHECK_FALSE(accepts("1d n8 ci64 co66 g1 i64 k2 s2 p0 op0 d1 bias f16 nchw", "raw_weights"));
    // Channels last the input's channels lie together anyhow, and a tap's weights.
    CHECK_FALSE(accepts("2d n8 ci64 co64 g1 i16x16 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nhwc", "raw_input"));
    CHECK(accepts("2d n8 ci64 co24 g1 i16x16 k3x2 s2x2 p0x0 op0x0 d1x1 bias f16 nhwc", "raw_weights"));
    CHECK_FALSE(accepts("2d n8 ci64 co64 g1 i16x16 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nhwc", "raw_weights"));
    CHECK_FALSE(accepts("2d n8 ci64 co28 g1 i16x16 k3x3 s1x1 p0x0 op0x0 d1x1 bias f16 nhwc", "raw_weights"));
}

TEST_CASE("channels-last weights that are read as they lie are exact") {
    test::Draw draw(101);
    // Columns of one tap, of the taps of joined phases, of some of them; columns that are no whole boxes; blocks of
    // channels, groups and lone inputs; dilation, taps that some phases lack.
    for (const char* text : {"2d n2 ci130 co72 g1 i9x10 k3x3 s1x1 p1x1 op0x0 d1x1 bias f16 nhwc",
                             "2d n2 ci64 co64 g1 i6x9 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nhwc",
                             "2d n2 ci70 co40 g1 i6x9 k2x2 s2x2 p0x1 op0x0 d1x1 bias f16 nhwc",
                             "2d n2 ci72 co32 g1 i6x9 k6x4 s3x2 p1x1 op0x0 d1x1 bias f16 nhwc",
                             "3d n1 ci40 co32 g1 i3x5x6 k4x2x2 s2x2x2 p1x0x0 op0x0x0 d1x1x1 bias bf16 nhwc",
                             "3d n1 ci40 co64 g1 i3x4x5 k2x4x2 s2x2x2 p0x1x0 op0x0x0 d1x1x1 bias f16 nhwc",
                             "2d n2 ci40 co200 g1 i6x7 k3x5 s2x3 p1x0 op1x0 d1x1 bias f16 nhwc",
                             "2d n2 ci144 co48 g2 i5x6 k3x3 s2x2 p1x1 op0x0 d1x1 bias f16 nhwc",
                             "1d n2 ci100 co136 g1 i300 k7 s2 p3 op1 d3 nobias bf16 nhwc",
                             "2d n9 ci96 co64 g1 i1x1 k4x4 s1x1 p0x0 op0x0 d1x1 nobias f16 nhwc",
                             "2d n3 ci128 co8 g1 i8x8 k1x1 s1x1 p0x0 op0x0 d1x1 bias f16 nhwc"}) {
        const Problem p = parse_key(text);
        for (const int join : {0, 1, 3}) {
            for (const int reuse : {0, 1, 2}) {
                const auto config = test::draw_config(hopper(), draw, p, [&](const Config& drawn) {
                    return drawn.at("raw_weights") == 1 && drawn.at("join") == join && drawn.at("reuse") == reuse;
                });
                INFO(text << ", join " << join << ", reuse " << reuse);
                if (config) test::check_exact(hopper(), draw, p, *config);
                if (join == 0 && reuse == 0) CHECK(config.has_value());
            }
        }
    }
}

TEST_CASE("random channels-last layers are exact where their weights are read as they lie") {
    test::Draw draw(103);
    int checked = 0;
    while (checked < test::rounds(20)) {
        const Problem p = test::draw_channels_last(draw);
        const auto config =
            test::draw_config(hopper(), draw, p, [](const Config& drawn) { return drawn.at("raw_weights") == 1; });
        if (!config) continue;
        test::check_exact(hopper(), draw, p, *config);
        ++checked;
    }
}

TEST_CASE("a channels-last layer of 16-bit tensors needs no launch for its operands") {
    test::Draw draw(107);
    for (const char* text : {"2d n8 ci2048 co256 g1 i8x6 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f16 nhwc",
                             "2d n64 ci128 co512 g1 i1x1 k4x4 s1x1 p0x0 op0x0 d1x1 nobias bf16 nhwc"}) {
        const Problem p = parse_key(text);
        const auto config = test::draw_config(hopper(), draw, p, [](const Config& drawn) {
            return drawn.at("raw_weights") == 1 && drawn.at("splits") == 1;
        });
        INFO(text);
        REQUIRE(config.has_value());
        const LaunchPlan plan = hopper().plan(p, test::emulated().device->info(), *config);
        CHECK(plan.launches.size() == 1);
        CHECK(plan.packed_weight_bytes == 0);
        CHECK_FALSE(plan.launches[0].overlaps);
    }
}
