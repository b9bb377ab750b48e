#include <array>
#include <string>
#include <utility>

#include "device/nvrtc/nvrtc.hpp"
#include "kernel_sources/sources.hpp"
#include "tests/catch.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/support/h200.hpp"

using namespace tconv;

TEST_CASE("NVRTC compiles the families of plain fp32 arithmetic for every type, layout and store") {
    const auto compiler = make_nvrtc_compiler();
    test::Draw draw(89);
    const std::array<std::pair<const char*, const char*>, 9> cases{{
        {"depthwise", "3d n2 ci64 co64 g64 i32x32x32 k3x3x3 s2x2x2 p1x1x1 op0x0x0 d1x1x1 bias f32 nchw"},
        {"depthwise", "2d n16 ci64 co64 g64 i64x64 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f16 nchw"},
        {"depthwise", "2d n16 ci64 co64 g64 i64x64 k4x4 s2x2 p1x1 op0x0 d1x1 bias f16 nhwc"},
        {"depthwise", "1d n2 ci32 co64 g16 i1000 k5 s3 p2 op1 d2 bias bf16 nchw"},
        {"depthwise", "2d n2 ci96 co192 g96 i20x30 k3x3 s1x1 p1x1 op0x0 d1x1 nobias bf16 nhwc"},
        {"depthwise", "3d n1 ci24 co24 g24 i8x8x8 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 nobias f32 nhwc"},
        {"few_outputs", "3d n64 ci64 co1 g1 i32x32x32 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw"},
        {"few_outputs", "2d n8 ci56 co1 g1 i270x480 k9x9 s4x4 p4x4 op3x3 d1x1 bias f32 nchw"},
        {"few_outputs", "2d n128 ci64 co3 g1 i32x32 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f32 nchw"},
    }};
    for (const auto& [family, text] : cases) {
        const SearchSpace& space = test::space_named(family);
        const Problem p = parse_key(text);
        for (int i = 0; i < 2; ++i) {
            const auto config = test::draw_config(
                space, draw, p, [](const Config&) { return true; }, test::h200());
            REQUIRE(config.has_value());
            INFO(family << " " << text << " | " << to_string(*config));
            const LaunchPlan plan = space.plan(p, test::h200(), *config);
            check_plan(plan, p, test::h200());
            CompileRequest request;
            request.name = plan.source_file;
            request.source = specialise(plan, p, *config);
            request.kernels = kernel_names(plan);
            request.architecture = "sm_90a";
            const CompileResult compiled = compiler->compile(request);
            INFO(compiled.log);
            CHECK(compiled.ok);
        }
    }
}
