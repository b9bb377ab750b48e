#include <array>
#include <functional>
#include <string>
#include <utility>

#include "device/nvrtc/nvrtc.hpp"
#include "kernel_sources/sources.hpp"
#include "tests/catch.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/support/h200.hpp"

using namespace tconv;

namespace {

bool any(const Config&) {
    return true;
}

/// Compiles a random config of the family for the problem, for an H200; more where more rounds are asked for.
void check_compiles(const std::string& family, const std::string& text, test::Draw& draw,
                    const std::function<bool(const Config&)>& accept = any) {
    static const auto compiler = make_nvrtc_compiler();
    const SearchSpace& space = test::space_named(family);
    const Problem p = parse_key(text);
    for (int i = 0; i < test::rounds(1); ++i) {
        const auto config = test::draw_config(space, draw, p, accept, test::h200());
        REQUIRE(config.has_value());
        INFO(family << " " << text << " | " << to_string(*config));
        const LaunchPlan plan = space.plan(p, test::h200(), *config);
        check_plan(plan, p, test::h200());
        CompileRequest request;
        request.name = plan.source_file;
        request.source = specialise(plan, p, *config);
        request.kernels = kernel_names(plan);
        request.architecture = "sm_90a";
        request.options = compiler_options(*config);
        const CompileResult compiled = compiler->compile(request);
        INFO(compiled.log);
        CHECK(compiled.ok);
    }
}

}  // namespace

TEST_CASE("NVRTC compiles the families of implicit products for every kind of operand and store") {
    test::Draw draw(71);
    for (const char* family : {"fma", "hopper", "mma"}) {
        for (const char* text : {"3d n64 ci256 co128 g1 i8x8x8 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f16 nhwc",
                                 "1d n8 ci384 co192 g1 i32768 k8 s4 p2 op0 d1 bias bf16 nchw",
                                 "2d n8 ci128 co64 g1 i256x256 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                                 "2d n16 ci256 co64 g1 i64x64 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nchw",
                                 "2d n32 ci2048 co256 g1 i8x6 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nhwc",
                                 "2d n4 ci512 co256 g1 i64x64 k3x3 s2x2 p0x0 op0x0 d1x1 nobias f32 nhwc"})
            check_compiles(family, text, draw);
    }
}

TEST_CASE("NVRTC compiles runs of rows that go from registers to the tensor") {
    test::Draw draw(79);
    for (const char* text : {"3d n2 ci64 co32 g1 i64x64x64 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw",
                             "2d n4 ci256 co130 g1 i62x54 k4x4 s4x4 p0x0 op0x0 d1x1 bias bf16 nchw"})
        check_compiles("fma", text, draw, [](const Config& config) { return config.at("direct_store") == 1; });
}

TEST_CASE(
    "NVRTC compiles products of four warps for every arithmetic, with and without columns that serve several taps") {
    test::Draw draw(103);
    for (const char* text : {"3d n8 ci48 co24 g1 i96x96x96 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw",
                             "2d n4 ci128 co64 g1 i128x128 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw",
                             "1d n16 ci64 co32 g1 i4096 k4 s2 p1 op0 d1 bias f32 nchw"}) {
        for (const std::int64_t math : {1, 2, 3})
            check_compiles("mma", text, draw, [&](const Config& config) {
                return config.at("backend") == 1 && config.at("math") == math;
            });
    }
    for (const std::int64_t math : {1, 3})
        check_compiles(
            "mma", "1d n16 ci64 co32 g1 i4096 k4 s2 p1 op0 d1 bias f32 nchw", draw,
            [&](const Config& config) { return config.at("reuse_columns") == 1 && config.at("math") == math; });
    check_compiles("mma", "3d n8 ci48 co24 g1 i96x96x96 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f16 nchw", draw,
                   [](const Config& config) { return config.at("pack_input") == 1 && config.at("backend") == 1; });
}

TEST_CASE("NVRTC compiles joined phases that lack a tap or begin a step later, and channels that begin anywhere") {
    test::Draw draw(101);
    const auto with = [](const char* text, const char* constant, std::int64_t value) {
        return [=, p = parse_key(text)](const Config& drawn) {
            return test::space_named("hopper").plan(p, test::h200(), drawn).constants.at(constant) == value;
        };
    };
    for (const char* text : {"2d n4 ci512 co256 g1 i64x64 k3x3 s2x2 p0x0 op0x0 d1x1 nobias f16 nchw",
                             "2d n4 ci128 co64 g1 i128x128 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw"})
        check_compiles("hopper", text, draw, with(text, "column_parts_w", 2));
    // Eight parts of 32 columns, four of 64 with weights as they lie.
    for (const char* text : {"3d n4 ci64 co32 g1 i48x48x48 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nhwc",
                             "3d n4 ci64 co32 g1 i48x48x48 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f32 nchw"})
        check_compiles("hopper", text, draw, with(text, "column_parts_d", 2));
    const char* raw = "2d n4 ci128 co64 g1 i128x128 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nhwc";
    check_compiles("hopper", raw, draw, [=, four = with(raw, "column_parts_h", 2)](const Config& drawn) {
        return drawn.at("raw_weights") == 1 && four(drawn);
    });
    // Of stride 2, 4 and 8 one, two and four phases lie in a part.
    for (const char* text : {"1d n16 ci128 co64 g1 i2048 k4 s2 p1 op0 d1 bias f16 nchw",
                             "1d n8 ci384 co192 g1 i32768 k8 s4 p2 op0 d1 bias f32 nchw",
                             "1d n16 ci512 co256 g1 i32 k16 s8 p4 op0 d1 bias bf16 nchw"})
        check_compiles("hopper", text, draw, [](const Config& drawn) { return drawn.at("join") >= 5; });
    const char* text = "2d n4 ci21 co21 g1 i64x64 k16x16 s8x8 p4x4 op0x0 d1x1 nobias f16 nhwc";
    check_compiles("hopper", text, draw, with(text, "store_shifted", 1));
}

TEST_CASE("NVRTC compiles copies that the blocks of a cluster share") {
    test::Draw draw(97);
    for (const int cluster : {2, 3}) {
        for (const bool reuse : {false, true}) {
            check_compiles(
                "hopper", "2d n32 ci256 co256 g1 i32x24 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f16 nhwc", draw,
                [&](const Config& c) { return c.at("cluster") == cluster && (c.at("reuse") != 0) == reuse; });
        }
    }
}

TEST_CASE("NVRTC compiles inputs that are packed inside the block, or read as they lie, in every arithmetic") {
    test::Draw draw(157);
    for (const std::int64_t block_pack : {1, 2}) {
        for (const std::int64_t math : {0, 1, 3}) {
            const std::string type = math == 0 ? "f16" : "f32";
            const auto accept = [&](const Config& c) {
                return c.at("block_pack") == block_pack && c.at("math") == math;
            };
            check_compiles("hopper", "2d n4 ci128 co64 g1 i128x128 k3x3 s2x2 p1x1 op1x1 d1x1 bias " + type + " nchw",
                           draw, accept);
            check_compiles("hopper", "1d n8 ci384 co192 g1 i32768 k8 s4 p2 op0 d1 bias " + type + " nchw", draw,
                           accept);
        }
    }
    check_compiles("hopper", "2d n8 ci128 co64 g1 i256x256 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw", draw,
                   [](const Config& c) { return c.at("raw_input") == 1; });
}

TEST_CASE("NVRTC compiles lines that follow one another and plans of tiles of unlike length") {
    test::Draw draw(163);
    for (const char* text : {"2d n4 ci512 co256 g1 i64x64 k3x3 s2x2 p0x0 op0x0 d1x1 nobias f16 nhwc",
                             "2d n4 ci512 co256 g1 i64x64 k3x3 s2x2 p0x0 op0x0 d1x1 nobias f32 nchw",
                             "3d n4 ci64 co32 g1 i48x48x48 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias bf16 nchw"}) {
        for (const bool joined : {false, true}) {
            check_compiles("hopper", text, draw, [&](const Config& c) {
                return c.at("reuse") == 3 && c.at("tile_order") != 2 && (c.at("join") > 0) == joined;
            });
        }
    }
}

TEST_CASE("NVRTC compiles taps as columns in every arithmetic, along the width and along the depth too") {
    test::Draw draw(191);
    for (const char* type : {"f16 nhwc", "bf16 nchw", "f32 nchw"}) {
        for (const std::int64_t columns : {1, 2}) {
            for (const std::int64_t packs : {0, 1, 2}) {
                if (packs > 0 && type == std::string("f16 nhwc")) continue;
                check_compiles(
                    "hopper",
                    std::string("3d n2 ci48 co24 g1 i40x96x96 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias ") + type, draw,
                    [&](const Config& c) { return c.at("tap_columns") == columns && c.at("block_pack") == packs; });
            }
        }
    }
}

TEST_CASE("NVRTC compiles the families for small groups and few outputs for every type, layout and store") {
    test::Draw draw(89);
    const std::array<std::pair<const char*, const char*>, 19> cases{{
        {"depthwise", "3d n2 ci64 co64 g64 i32x32x32 k3x3x3 s2x2x2 p1x1x1 op0x0x0 d1x1x1 bias f32 nchw"},
        {"depthwise", "2d n16 ci64 co64 g64 i64x64 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f16 nchw"},
        {"depthwise", "2d n16 ci64 co64 g64 i64x64 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nhwc"},
        {"depthwise", "1d n2 ci32 co64 g16 i1000 k5 s3 p2 op1 d2 bias bf16 nchw"},
        {"depthwise", "2d n2 ci96 co192 g96 i20x30 k3x3 s1x1 p1x1 op0x0 d1x1 nobias bf16 nhwc"},
        {"depthwise", "3d n1 ci24 co24 g24 i8x8x8 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 nobias f32 nhwc"},
        {"few_outputs", "3d n64 ci64 co1 g1 i32x32x32 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw"},
        {"few_outputs", "2d n8 ci56 co1 g1 i270x480 k9x9 s4x4 p4x4 op3x3 d1x1 bias f32 nchw"},
        {"few_outputs", "2d n128 ci64 co3 g1 i32x32 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f32 nchw"},
        {"few_outputs", "3d n64 ci64 co1 g1 i32x32x32 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f16 nchw"},
        {"few_outputs", "2d n128 ci64 co3 g1 i32x32 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nchw"},
        {"few_outputs", "2d n128 ci64 co3 g1 i32x32 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f16 nhwc"},
        {"few_outputs", "2d n8 ci56 co1 g1 i270x480 k9x9 s4x4 p4x4 op3x3 d1x1 bias f32 nhwc"},
        {"few_mma", "3d n64 ci64 co1 g1 i32x32x32 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f16 nhwc"},
        {"few_mma", "3d n64 ci64 co1 g1 i32x32x32 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw"},
        {"few_mma", "2d n8 ci56 co1 g1 i270x480 k9x9 s4x4 p4x4 op3x3 d1x1 bias bf16 nchw"},
        {"few_mma", "2d n8 ci56 co1 g1 i270x480 k9x9 s4x4 p4x4 op3x3 d1x1 bias f32 nhwc"},
        {"few_mma", "2d n128 ci64 co3 g1 i32x32 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nhwc"},
        {"few_mma", "1d n4 ci32 co1 g1 i32768 k16 s8 p4 op0 d1 bias f16 nchw"},
    }};
    for (const auto& [family, text] : cases)
        check_compiles(family, text, draw);
    const auto boxes = [](const Config& config) { return config.at("box_width") > 0; };
    for (const char* text : {"3d n64 ci64 co1 g1 i32x32x32 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw",
                             "2d n128 ci64 co3 g1 i32x32 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nchw"})
        check_compiles("few_outputs", text, draw, boxes);
}

TEST_CASE("NVRTC compiles the winograd family for every number of axes, with phases together and apart") {
    test::Draw draw(163);
    for (const char* text : {"3d n64 ci256 co128 g1 i8x8x8 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw",
                             "2d n4 ci512 co256 g1 i64x64 k3x3 s2x2 p0x0 op0x0 d1x1 nobias f32 nchw",
                             "1d n16 ci512 co256 g1 i32 k16 s8 p4 op0 d1 bias f16 nchw"}) {
        for (const bool apart : {false, true})
            check_compiles("winograd", text, draw, [&](const Config& c) { return (c.at("apart_axes") > 0) == apart; });
    }
}

TEST_CASE("NVRTC compiles the overlap_add family with and without a gathering launch for every kind of operand") {
    test::Draw draw(151);
    for (const char* text : {"2d n8 ci128 co64 g1 i256x256 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                             "3d n2 ci64 co32 g1 i64x64x64 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f16 nhwc",
                             "1d n16 ci512 co256 g1 i32 k16 s8 p4 op0 d1 bias f32 nchw",
                             "2d n32 ci256 co256 g1 i32x24 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nchw",
                             "1d n1 ci1026 co1 g1 i200 k4096 s1024 p2048 op0 d1 nobias f32 nhwc"})
        check_compiles("overlap_add", text, draw);
    for (const std::int64_t groups : {2, 4})
        check_compiles("overlap_add", "3d n2 ci320 co320 g1 i4x4x4 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw",
                       draw, [&](const Config& config) { return config.at("channel_groups") == groups; });
}

TEST_CASE("NVRTC compiles the overlap_mma family for whole images of every size and for slices") {
    test::Draw draw(167);
    for (const char* text : {"1d n16 ci512 co256 g1 i32 k16 s8 p4 op0 d1 bias f16 nchw",
                             "2d n128 ci512 co256 g1 i4x4 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nchw",
                             "2d n32 ci2048 co256 g1 i8x6 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f16 nchw",
                             "3d n64 ci256 co128 g1 i4x4x4 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f16 nchw",
                             "3d n16 ci128 co64 g1 i4x6x6 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias bf16 nchw",
                             "2d n32 ci256 co256 g1 i32x24 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f16 nchw",
                             "1d n8 ci1536 co768 g1 i512 k16 s8 p4 op0 d1 bias bf16 nchw"})
        check_compiles("overlap_mma", text, draw);
    for (const char* parameter : {"cluster", "blocks", "rows"})
        check_compiles("overlap_mma", "1d n16 ci256 co128 g1 i256 k16 s8 p4 op0 d1 bias f16 nchw", draw,
                       [&](const Config& drawn) { return drawn.at(parameter) == 2; });
}

TEST_CASE("NVRTC compiles the overlap_mma32 family of either arithmetic for whole images and slices") {
    test::Draw draw(173);
    for (const char* text : {"2d n32 ci2048 co256 g1 i8x6 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f32 nchw",
                             "3d n2 ci320 co320 g1 i4x4x4 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw",
                             "1d n1 ci500 co256 g1 i800 k16 s8 p4 op0 d1 bias f32 nchw"}) {
        for (const std::int64_t math : {1, 3})
            check_compiles("overlap_mma32", text, draw,
                           [&](const Config& config) { return config.at("math") == math; });
    }
}

TEST_CASE("NVRTC compiles taps along the width that share what neighbouring positions read") {
    test::Draw draw(109);
    for (const char* text : {"1d n16 ci32 co64 g1 i131072 k3 s2 p1 op0 d2 nobias f32 nchw",
                             "1d n16 ci128 co64 g1 i2048 k4 s2 p1 op0 d1 bias f16 nchw",
                             "3d n4 ci64 co32 g1 i48x48x48 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f32 nchw"})
        check_compiles("fma", text, draw, [](const Config& config) { return config.at("reuse_columns") == 1; });
}
